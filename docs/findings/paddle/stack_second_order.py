"""The second derivative through paddle.stack and paddle.concat raises where one of the tensors is a constant.

    The sum of the squares of (x, 1) is x^2 + 1; its second derivative is 2.

SystemError: "Unable to fill empty grad inputs due to empty GradSlotMeta" (paddle/fluid/eager/utils.cc). Prints expected and got, and exits with 1 while
they differ.
"""

import sys

try:
    import paddle
except ImportError:
    sys.exit(125)

wrong = False
for name, join in (("stack", paddle.stack), ("concat", lambda ts: paddle.concat([t.reshape([1]) for t in ts]))):
    for other in ("a constant", "a variable"):
        x = paddle.to_tensor(0.5, "float64", stop_gradient=False)
        one = paddle.to_tensor(1.0, "float64", stop_gradient=other == "a constant")
        (slope,) = paddle.grad([(join([x, one]) * join([x, one])).sum()], [x], create_graph=True)
        try:
            got = paddle.grad([slope], [x])[0].item()
        except Exception as error:
            got = f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}"
        print(f"paddle {paddle.__version__}: {name} of x and {other}: expected 2.0, got {got}")
        wrong = wrong or got != 2.0
print("wrong" if wrong else "right")
sys.exit(1 if wrong else 0)
