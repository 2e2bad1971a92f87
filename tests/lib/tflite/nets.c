// SPDX-License-Identifier: MIT
#include "nets.h"

#include <stdint.h>
#include <string.h>

#include "unit.h"

const struct net net_chain = {
	"chain", 256,
	5,	 -1,
	-1,	 { 4, -2 },
	4,	 { ONE(CONV, 0, 0, 1), ONE(CONV, 0, 1, 2), ONE(CONV, 0, 2, 3), ONE(CONV, 0, 3, 4) }
};
const struct net net_residual = {
	"residual", 192,
	5,	    -1,
	2,	    { 4, -2 },
	3,	    { TWO(CONV, 0, 0, 2, 1), ONE(CONV, FAKE_TEMPORARY, 1, 3), TWO(ADD, 0, 1, 3, 4) }
};
const struct net net_inplace = {
	"inplace", 320,	      4, -1,
	-1,	   { 3, -2 }, 3, { ONE(CONV, 0, 0, 1), ONE(RELU, 0, 1, 2), ONE(CONV, 0, 2, 3) }
};
const struct net net_temporaries = { "temporaries",
				     100,
				     4,
				     -1,
				     -1,
				     { 3, -2 },
				     3,
				     { ONE(CONV, FAKE_TEMPORARY, 0, 1),
				       ONE(CONV, FAKE_TEMPORARY, 1, 2),
				       ONE(CONV, FAKE_TEMPORARY, 2, 3) } };
const struct net net_split = { "split",
			       128,
			       7,
			       -1,
			       -1,
			       { 6, 2, -2 },
			       5,
			       { ONE(CONV, 0, 0, 1), ONE(CONV, 0, 1, 2), ONE(WHILE, 0, 2, 3),
				 TWO(CONV, 0, 3, 0, 4), TWO(CONV, 0, 4, 1, 6) } };
const struct net net_variable = {
	"variable", 64,	       4, 2,
	-1,	    { 3, -2 }, 2, { TWO(CONV, FAKE_COUNTS, 0, 2, 1), ONE(CONV, 0, 1, 3) }
};
const struct net net_lasting = {
	"lasting", 64,
	5,	   -1,
	1,	   { 4, -2 },
	3,	   { ONE(CONV, FAKE_LASTS, 1, 2), TWO(ADD, 0, 0, 2, 3), TWO(ADD, 0, 3, 2, 4) }
};
const struct net net_dynamic = { "dynamic",
				 64,
				 6,
				 -1,
				 -1,
				 { 5, 4, -2 },
				 4,
				 { ONE(CONV, 0, 0, 1), ONE(CONV, FAKE_DYNAMIC, 1, 2),
				   ONE(CONV, FAKE_DYNAMIC, 2, 4), ONE(CONV, 0, 1, 5) } };

struct fake *net_make(const struct net *net, int minor)
{
	struct fake *fake = fake_new(minor);

	for (int t = 0; t < net->tensor_count; t++) {
		int number = fake_tensor(fake, net->bytes,
					 t == net->weight   ? TFL_MMAP_RO :
					 t == net->variable ? TFL_ARENA_PERSISTENT :
							      TFL_ARENA);

		fake_at(fake, number)->is_variable = t == net->variable;
		if (t == net->weight)
			fake_fill(fake, number, 99);
	}
	for (int i = 0; i < net->op_count; i++)
		fake_add(fake, &net->ops[i]);
	memcpy(fake->outputs, net->outputs, sizeof(net->outputs));
	return fake;
}

void assert_same_outputs(struct fake *a, struct fake *b, const struct net *net)
{
	for (int i = 0; net->outputs[i] != -2; i++) {
		const struct tfl_tensor *x = fake_at(a, net->outputs[i]);
		const struct tfl_tensor *y = fake_at(b, net->outputs[i]);

		assert_int_equal(x->bytes, y->bytes);
		assert_memory_equal(x->data.raw, y->data.raw, x->bytes);
	}
}

void net_infer(struct fake *plain, struct fake *ours, const struct net *net)
{
	for (unsigned int seed = 1; seed <= 3; seed++) {
		if (seed < 3) {
			fake_fill(plain, 0, seed);
			fake_fill(ours, 0, seed);
		}
		assert_int_equal(fake_invoke(plain), TFL_OK);
		if (fake_invoke(ours) != TFL_OK)
			fail_msg("%s: %s", net->name, ours->error);
		assert_same_outputs(plain, ours, net);
	}
}
