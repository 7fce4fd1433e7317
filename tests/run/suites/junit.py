#!/usr/bin/python3
"""junit.py FILE: a line of verdict and name for each test of a JUnit file."""
import sys
import xml.etree.ElementTree

for case in xml.etree.ElementTree.parse(sys.argv[1]).iter('testcase'):
    kinds = {child.tag for child in case}
    verdict = 'failed' if kinds & {'failure', 'error'} else 'skipped' if 'skipped' in kinds else 'passed'
    print(verdict, case.get('name').split('\n')[0])
