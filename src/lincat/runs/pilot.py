"""How many transitions a run looks at before it begins; commands tell it in their help."""

#: Transitions from which a plan is made, where sums are added up.
PILOT = 200_000
#: The same where learning goes step by step.
STEPWISE_PILOT = 10_000
