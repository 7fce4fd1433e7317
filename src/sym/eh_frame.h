/* SPDX-License-Identifier: MIT */
/* .eh_frame: the range of every function (a stripped program still has it), the unwinder's view of
 * its first instruction, and its landing pads. Private to src/sym. */
#pragma once
#include "sym/code_set.h"

struct eh_fde {
	uint64_t start, size;
	uint64_t lsda;        /* vaddr of its exception table; 0 = none */
	uint64_t program;     /* vaddr of its own CFI instructions, */
	uint32_t program_n;   /* and their bytes */
	uint32_t cie;         /* index into eh_frame.cies */
	bool signal;          /* a signal frame: not a function */
	bool cfa_moved;       /* at start: CFA is not DWARF_FRESH_CFA above sp */
	bool saved;           /* at start: a register is already saved on the stack */
	bool ra_undefined;    /* at start: there is no return address */
};

struct eh_cie {
	uint64_t vaddr;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;          /* column of the return address */
	uint64_t program;     /* vaddr of the initial instructions */
	uint32_t program_n;
	uint8_t fde_encoding, lsda_encoding; /* DW_EH_PE_* */
	bool sized, signal;   /* augmentation has 'z', 'S' */
	bool usable;
};

struct eh_frame {
	VEC(struct eh_fde) fdes; /* by start */
	VEC(struct eh_cie) cies;
};

/* Reads as far as the bytes make sense; a malformed table gives the FDEs before the fault. */
void eh_frame_read(const struct elf_view *v, struct eh_frame *out);
void eh_frame_free(struct eh_frame *f);

/* Returns the FDE around vaddr, or NULL. */
const struct eh_fde *eh_frame_around(const struct eh_frame *f, uint64_t vaddr);
/* eh_frame_around() for ascending vaddrs; *at begins as 0. */
const struct eh_fde *eh_frame_walk(const struct eh_frame *f, uint64_t vaddr, size_t *at);
/* True if the unwinder, at vaddr inside of the FDE, sees anything but a fresh call: the CFA
 * DWARF_FRESH_CFA above the stack pointer, and a return address. */
bool eh_frame_unusual(const struct elf_view *v, const struct eh_frame *f, const struct eh_fde *fde,
		      uint64_t vaddr);

/* Computes the rules by which the unwinder gets from vaddr to the caller; *ra: the column of the
 * return address. False: the table does not say. */
struct cfi_state;
bool eh_frame_state(const struct elf_view *v, const struct eh_frame *f, const struct eh_fde *fde,
		    uint64_t vaddr, struct cfi_state *out, uint64_t *ra);

/* Adds the landing pads of all FDEs to pads. */
void eh_frame_landing_pads(const struct elf_view *v, const struct eh_frame *f,
			   struct code_set *pads);
