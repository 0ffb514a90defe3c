# A while loop whose body returns one value in two places of the carry: Nx drops a part of the gradient.
#
#     a, b = x, x
#     for i in range(2):
#         t = a * x
#         a, b = t, t
#     a + b, which is 2 x^3 with the derivative 6 x^2
#
# The gradient of `while` (nx/lib/nx/defn/grad.ex, update_grads(:while, ...)) keeps the cotangents of the body's outputs by the id of the expression with
# Map.put; where two outputs are one expression, the first cotangent is overwritten by the second. A loop whose last state is its input does the
# same: `while {a = 0.0, i = 0, x}, i < 3 do {x, i + 1, x} end` has the derivative 1, and Nx says 0.
#
# Prints got and expected, and exits with 1 while they differ. Needs Elixir and Nx; run it with: elixir FILE

unless Code.ensure_loaded?(Nx) do
  try do
    Mix.install([{:nx, "~> 0.10"}])
  rescue
    _ ->
      IO.puts(:stderr, "This script needs Nx")
      System.halt(125)
  end
end

Application.put_env(:nx, :default_backend, {Nx.BinaryBackend, []})
unless Application.get_env(:nx, :default_defn_options), do: Application.put_env(:nx, :default_defn_options, [])

defmodule Program do
  import Nx.Defn

  defn twice(x) do
    {a, b, _, _} =
      while {a = x, b = x, i = 0, x}, i < 2 and Nx.is_infinity(b) == 0 do
        t = a * x
        {t, t, i + 1, x}
      end

    a + b
  end

  defn last(x) do
    {a, _, _} =
      while {a = 0.0, i = 0, x}, i < 3 and Nx.is_infinity(a) == 0 do
        {x, i + 1, x}
      end

    a
  end
end

x = 0.5

wrong =
  for {name, f, expected} <- [{"2 x^3", &Program.twice/1, 6 * x * x}, {"x", &Program.last/1, 1.0}] do
    got = Nx.to_number(Nx.Defn.grad(Nx.tensor(x, type: :f32), f))
    IO.puts("Nx #{Application.spec(:nx, :vsn)}: derivative of #{name} at #{x}: got #{got}, expected #{expected}")
    not (is_number(got) and abs(got - expected) < 1.0e-5)
  end

IO.puts(if Enum.any?(wrong), do: "wrong", else: "right")
System.halt(if Enum.any?(wrong), do: 1, else: 0)
