/* The fast decoder against Zydis: over all the code of real programs, and over random bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <Zydis/Decoder.h>

#include "arch/insn.h"
#include "sym/module.h"

static enum insn_flow expected_flow(const ZydisDecodedInstruction *in)
{
	bool direct = in->raw.imm[0].is_relative;

	if (in->mnemonic == ZYDIS_MNEMONIC_CALL)
		return direct ? FLOW_CALL : FLOW_CALL_INDIRECT;
	if (in->mnemonic == ZYDIS_MNEMONIC_JMP)
		return direct ? FLOW_JUMP : FLOW_JUMP_INDIRECT;
	if (direct)
		return FLOW_BRANCH;
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSRET: case ZYDIS_MNEMONIC_SYSEXIT:
		return FLOW_STOP;
	default:
		return FLOW_NEXT;
	}
}

static const ZydisDecoder *decoder(void)
{
	static ZydisDecoder d;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return &d;
}

static bool agrees(const uint8_t *p, size_t n, uint64_t vaddr, const ZydisDecodedInstruction *z)
{
	bool rip = (z->attributes & ZYDIS_ATTRIB_HAS_MODRM) && z->raw.modrm.mod == 0 &&
		   z->raw.modrm.rm == 5;
	struct insn in;

	if (!insn_decode(p, n, vaddr, &in) || in.len != z->length || in.relative != rip)
		return false;
	if (z->raw.imm[0].is_relative && in.target != vaddr + z->length + z->raw.imm[0].value.u)
		return false;
	if (rip && in.target != vaddr + z->length + (uint64_t)z->raw.disp.value)
		return false;
	if (in.flow != expected_flow(z) && z->meta.category != ZYDIS_CATEGORY_SYSRET)
		return false;
	return !(z->attributes & ZYDIS_ATTRIB_HAS_MODRM) || p[in.modrm_at] == in.modrm ||
	       !in.modrm_at;
}

/* The last instructions of a text are decoded another way (their bytes end soon): all that is told
 * of them has to be the same. */
static bool agrees_at_the_end(const uint8_t *p, size_t n, uint64_t vaddr)
{
	struct insn in, last;

	if (!insn_decode(p, n, vaddr, &in) || !insn_decode(p, in.len, vaddr, &last) ||
	    in.len != last.len || in.flow != last.flow || in.map != last.map ||
	    in.relative != last.relative)
		return false;
	if ((in.relative || in.flow == FLOW_CALL || in.flow == FLOW_JUMP ||
	     in.flow == FLOW_BRANCH) && in.target != last.target)
		return false;
	return in.map == MAP_VEX ||
	       (in.opcode == last.opcode && in.prefixes == last.prefixes && in.rex == last.rex &&
		in.modrm_at == last.modrm_at && in.modrm == last.modrm);
}

static void show(const uint8_t *p, size_t n, const ZydisDecodedInstruction *z)
{
	struct insn in;
	bool ok = insn_decode(p, n, 0, &in);

	fprintf(stderr, "zydis %d bytes, %d %d bytes, flow %d:", z->length, ok, in.len, in.flow);
	for (size_t i = 0; i < 16 && i < n; i++)
		fprintf(stderr, " %02x", p[i]);
	fprintf(stderr, "\n");
}

/* Counts instructions compared; differences are shown. */
static size_t compare(const uint8_t *p, size_t n, uint64_t vaddr, size_t *differ)
{
	size_t compared = 0;

	for (size_t at = 0; at < n;) {
		ZydisDecodedInstruction z;

		if (!ZYAN_SUCCESS(
			    ZydisDecoderDecodeInstruction(decoder(), NULL, p + at, n - at, &z))) {
			at++;
			continue;
		}
		if ((!agrees(p + at, n - at, vaddr + at, &z) ||
		     !agrees_at_the_end(p + at, n - at, vaddr + at)) && (*differ)++ < 10)
			show(p + at, n - at, &z);
		compared++;
		at += z.length;
	}
	return compared;
}

static void test_real_code(void **state)
{
	static const char *const files[] = {
		"/usr/bin/python3",
		"/usr/bin/perl",
		"/usr/bin/git",
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libm.so.6",
	};
	size_t compared = 0, differ = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct sym_module *m;
		struct err err;

		assert_int_equal(sym_open(files[i], &m, &err), 0);
		for (size_t k = 0; k < m->functions.n; k++) {
			const struct sym_function *f = &m->functions.at[k];
			const uint8_t *code = sym_bytes(m, f->vaddr, f->size);

			if (code)
				compared += compare(code, f->size, f->vaddr, &differ);
		}
		sym_close(m);
	}
	printf("%zu instructions compared\n", compared);
	assert_true(compared > 2000000);
	assert_int_equal(differ, 0);
}

/* An instruction that Zydis decodes must have the same length here; one that it refuses may be
 * taken (only functions' entries are judged by Zydis). */
static void test_random_bytes(void **state)
{
	static const uint8_t frequent[] = { 0x66, 0xf2, 0xf3, 0x48, 0x4c, 0x41, 0x0f,
					    0x64, 0x67, 0xc5, 0xc4, 0xff, 0xf7 };
	size_t differ = 0, compared = 0;
	uint8_t p[64];

	srandom(1);
	for (unsigned i = 0; i < 3000000; i++) {
		ZydisDecodedInstruction z;

		for (unsigned k = 0; k < 16; k++)
			p[k] = (uint8_t)random();
		for (unsigned k = 0; k < 3 && random() % 2; k++)
			p[k] = frequent[(unsigned)random() % sizeof(frequent)];
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder(), NULL, p, sizeof(p), &z)))
			continue;
		compared++;
		if ((!agrees(p, sizeof(p), 0x400000, &z) ||
		     !agrees_at_the_end(p, sizeof(p), 0x400000)) && differ++ < 10)
			show(p, sizeof(p), &z);
	}
	assert_true(compared > 1000000);
	assert_int_equal(differ, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_code),
		cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests_name("insn", tests, NULL, NULL);
}
