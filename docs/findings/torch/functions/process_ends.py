"""Functions of torch end the process, where a neighbour answers or raises.

    lstm                of float64 with fewer layers in the cell state than in the hidden state; float32 raises
    gru                 of a sequence of rank 6; of rank 3 with the same weights it answers
    native_batch_norm   backward, of an empty batch with running statistics: the gradient is empty, as that of
                        nn.functional.batch_norm
    embedding_bag       of float64 in mode 2 (max) with a matrix of indices; mode 0 (sum) raises. With one offset,
                        which is the last one, and three indices, that of nn.functional, too; two offsets answer
    ctc_loss            of nn.functional, backward, with a label that is no class

Runs each in a process of its own, prints how it ended, and exits with 1 while a signal ends one.
"""

import subprocess
import sys

import torch

LSTM = """
x, hidden, cell = (torch.zeros(n, 1, 1, dtype={}) for n in (1, 2, 1))
weights = [torch.zeros(4, 1, dtype={})] * 4
torch.lstm(x, [hidden, cell], weights, False, 2, 0.0, False, False, False)
"""
BATCH_NORM = """
x = torch.zeros(0, 1, requires_grad=True)
mean, variance = torch.zeros(1), torch.ones(1)
torch.{}.sum().backward()
print(tuple(x.grad.shape))
"""
EMBEDDING_BAG = """
indices, offsets = torch.tensor([[0, 1, 2], [2, 3, 3]]), torch.tensor([0, 2])
torch.embedding_bag(torch.ones(4, 2, dtype=torch.float64), indices, offsets, False, {})
"""
GRU = """
x = torch.ones({}, dtype=torch.float64)
weights = [torch.ones(6, 2, dtype=torch.float64)] * 4
torch.gru(x, x, weights, False, 2, 0.0, False, False, False)
"""
LAST_OFFSET = """
indices, weights = torch.tensor([0, 1, 2]), torch.ones(3, 3, dtype=torch.float64)
torch.nn.functional.embedding_bag(indices, weights, torch.tensor({}), include_last_offset=True)
"""
CTC_LOSS = """
x = torch.zeros(2, 2, 2).log_softmax(-1).requires_grad_()
torch.nn.functional.ctc_loss(x, torch.tensor([{}, 1]), (2, 1), (1, 1)).backward()
print(tuple(x.grad.shape))
"""
CALLS = (
    ("lstm, float32", LSTM.format("torch.float32", "torch.float32")),
    ("lstm, float64", LSTM.format("torch.float64", "torch.float64")),
    ("gru of rank 3", GRU.format("2, 1, 2")),
    ("gru of rank 6", GRU.format("2, 1, 2, 2, 2, 2")),
    ("nn.functional.batch_norm", BATCH_NORM.format("nn.functional.batch_norm(x, mean, variance)")),
    (
        "native_batch_norm",
        BATCH_NORM.format("native_batch_norm(x, None, None, mean, variance, False, 0.1, 1e-5)[0]"),
    ),
    ("embedding_bag, mode 0", EMBEDDING_BAG.format(0)),
    ("embedding_bag, mode 2", EMBEDDING_BAG.format(2)),
    ("nn.functional.embedding_bag, two offsets", LAST_OFFSET.format([0, 3])),
    ("nn.functional.embedding_bag, one offset", LAST_OFFSET.format([0])),
    ("nn.functional.ctc_loss, label 1", CTC_LOSS.format(1)),
    ("nn.functional.ctc_loss, label 1000000", CTC_LOSS.format(1000000)),
)
killed = False
for name, code in CALLS:
    ran = subprocess.run([sys.executable, "-c", f"import torch\n{code}"], capture_output=True, text=True)
    answer = (ran.stdout.strip() or ran.stderr.strip() or "no answer").splitlines()[-1]
    print(f"torch {torch.__version__}: {name}: expected an answer or an error, got exit code {ran.returncode}, {answer[:60]}")
    killed |= ran.returncode < 0
print("wrong" if killed else "right")
sys.exit(1 if killed else 0)
