/*
 * DPM-Solver's single steps on clean + sigma·noise, in t = −log sigma, as k-diffusion's "DPM fast" and "DPM adaptive" use them: order 1 to 3
 * with as many model calls. What a later call needs of an earlier one is added up at once, so two slots are enough.
 */
#ifndef SOLVER_EXPO_H
#define SOLVER_EXPO_H

#include "solver/draft.h"

struct expo_step {
	double from, to; /* t */
	double r1, r2;   /* where in between the second and third call are */
	int order;
	/* what the third call's sample and the step's end have so far */
	uint32_t slot_middle, slot_end;
};

/* The sigma of call 0 … order − 1. */
double expo_sigma(const struct expo_step *step, int call);

/* The sums of the row of a call, whose model was called at expo_sigma. */
void expo_fill(const struct expo_step *step, int call, struct strata_solver_row *row);

/* Adds scale times the noise that the model predicts at sigma, (x − y) / sigma. */
void expo_noise(struct strata_solver_sum *sum, double sigma, double scale);

/* Splits a step's end into a deterministic part up to *ret_to and new noise of deviation *ret_up. */
void expo_ancestral(double from, double to, double end, double eta, double *ret_to, double *ret_up);

#endif
