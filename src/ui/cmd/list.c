/* brace list: the functions of a binary, and how each would be hooked or why it cannot be. */
#include <inttypes.h>
#include <string.h>

#include "base/demangle.h"
#include "hook/list.h"
#include "ui/commands.h"
#include "ui/globs.h"
#include "ui/json.h"
#include "ui/list_events.h"
#include "ui/screen.h"
#include "ui/say.h"
#include "ui/summary.h"

/* A cold fragment belongs to a function and is none itself. */
static bool is_fragment(const struct hook_list_row *r)
{
	return !strcmp(r->reason, hook_reason_words[REASON_COLD]);
}

static void print_why(struct out *o, const struct hook_list_row *r)
{
	const char *verdict = is_fragment(r) ? "not a function" :
			      r->hooked	     ? "entry only" :
					       "not hooked";

	out_printf(o, "0x%016" PRIx64 " %-12s %s%s", r->vaddr, r->kind, r->name,
		   r->plt ? " [plt]" : "");
	if (*r->reason)
		out_printf(o, " (%s: %s, %s)", verdict, r->reason, r->reason_text);
	out_char(o, '\n');
}

static void print_name(struct out *o, const struct hook_list_row *r)
{
	if (is_fragment(r))
		return;
	out_str(o, r->name);
	out_char(o, '\n');
}

static void print_json(struct out *o, const struct hook_list_row *r)
{
	out_str(o, "{\"name\":");
	json_string(o, r->name);
	out_printf(o, ",\"address\":%" PRIu64 ",\"size\":%" PRIu32 ",\"plt\":%s,\"hooked\":%s,"
		   "\"entry_only\":%s,\"kind\":\"%s\",\"reason\":\"%s\"}\n", r->vaddr, r->size,
		   r->plt ? "true" : "false", r->hooked ? "true" : "false",
		   r->entry_only ? "true" : "false", r->kind, r->reason);
}

static void print_rows(const struct invocation *inv, const struct hook_list *l, struct screen *o)
{
	void (*print)(struct out *, const struct hook_list_row *) =
		inv->json ? print_json : inv->why ? print_why : print_name;

	if (inv->json)
		out_str(&o->text, "{\"schema\":\"brace-list\",\"version\":1}\n");
	for (size_t i = 0; i < l->rows.n && !screen_is_done(o); i++) {
		struct hook_list_row row = l->rows.at[i];
		char name[1024];

		demangle(row.name, name, sizeof(name));
		row.name = name;
		print(&o->text, &row);
	}
}

/* By the symbol, or as a programmer wrote it. */
static bool selected(const char *name, void *globs)
{
	char plain[1024];

	if (function_list_match(globs, name, NULL))
		return true;
	if (!demangle_is_mangled(name))
		return false;
	demangle(name, plain, sizeof(plain));
	return function_list_match(globs, plain, NULL);
}

static int print_list(const struct invocation *inv, const struct hook_list *l)
{
	struct screen o;
	int status;

	screen_open(&o, inv, SCREEN_PAGED, inv->json ? NULL : paint_list);
	print_rows(inv, l, &o);
	status = screen_close(&o, 0);
	if (inv->why && !inv->json && l->rows.n)
		summary_hooks(l->by_kind, l->by_reason);
	return status;
}

int cmd_list(struct invocation *inv)
{
	struct function_list globs = { 0 };
	struct hook_list list = { 0 };
	struct err err;
	int status;

	if (inv->list_events)
		return list_events(inv);
	if (!inv->binary) {
		say("brace: list needs -f BINARY; `brace list --help` says more\n");
		return EXIT_BRACE;
	}
	status = globs_read(&globs, inv->operands, inv->n_operands, 0);
	if (status)
		return status;
	if (hook_list_load(inv->binary, inv->n_operands ? selected : NULL, &globs, &list, &err)) {
		status = say_error(&err);
	} else if (!list.rows.n) {
		say("brace: %s has no function%s\n", inv->binary,
		    inv->n_operands ? " that matches" : "");
		status = EXIT_BRACE;
	} else {
		status = print_list(inv, &list);
	}
	hook_list_free(&list);
	function_list_free(&globs);
	return status;
}
