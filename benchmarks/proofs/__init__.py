"""The page docs/proofs.md: which derivative rules of JAX and Torch are proved right.

written                 how a person writes a call down
calls_jax, calls_torch  calls for rules that no drawn call reaches
calls_jax_devices, calls_jax_effects
                        those of JAX's collectives, and of what is more than a function of arrays
rules                   the rules of a library, the modes that each has, and those that a call uses
reasons                 why a rule cannot be asked at all
proving                 proofs of drawn and of written calls
page                    the page
"""
