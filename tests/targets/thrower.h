#pragma once
int library_call(int depth, int (*back)(int));
int library_alive();
