"""Truth and answer compared: agree, disagree, convention, inconclusive, unsupported or crashed.

    truth                              asked of the references, never of a target
    judge, classify                    the verdict of a check; what kind of wrong it is
    along                              gradients of many entries, by their products with a few directions; one
                                       entry of many, asked of the part of a program that it reaches
    large                              the truth of arrays that are too large for balls
    kinks                              kinks seen along more directions
    rounding                           what is wrong below float64 alone, and may be rounding
    evaluator                          judges by truth and tolerance, and remembers both for a question
    shared                             what a process makes once: its oracles, and the evaluator
    metamorphic, metamorphic_checks    questions whose answers follow from another answer, and checks by them
                                       alone
    checking                           questions to several oracles, as `gradfuzz check` asks them
    rows, labels                       canonical cases asked of one oracle, with a label for each

- A metamorphic variant of a question is a batch permuted, an instance alone, a matrix transposed. Whether the
  relation holds of a program is seen from its values. So a contradiction proves nothing yet: the questions
  that contradict each other become an ordinary case, which the references judge.
- Every question of a sweep is asked with one variant. With `--checks twins` an answer that is the engine's
  and its variant's stands without a truth.
- Near a kink `arb` is asked beside it, on either side, and must see the slopes that `mpmath` measured.
"""

from __future__ import annotations
