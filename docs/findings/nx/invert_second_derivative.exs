# The second derivative of Nx.LinAlg.invert: Nx returns a wrong number.
#
#     invert([[x * x]]) is x^-2, with the derivatives -2 x^-3 and 6 x^-4.
#
# The first derivative is right. The second is 2 t^-3 (t')^2 - t^-2 t'' of t = x * x, 128 - 32; Nx returns 64, with the second part twice. The rule is a
# custom_grad that refers to the inverse itself (nx/lib/nx/lin_alg.ex, invert/1). triangular_solve and solve of the same are right.
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

f = fn x -> Nx.sum(Nx.LinAlg.invert(Nx.reshape(Nx.multiply(x, x), {1, 1}))) end
first = fn x -> Nx.Defn.grad(x, f) end
x = 0.5

wrong =
  for {name, g, expected} <- [{"first", first, -2 * x ** -3}, {"second", fn x -> Nx.Defn.grad(x, first) end, 6 * x ** -4}] do
    got = Nx.to_number(g.(Nx.tensor(x, type: :f32)))
    IO.puts("Nx #{Application.spec(:nx, :vsn)}: #{name} derivative of invert([[x * x]]) at #{x}: got #{got}, expected #{expected}")
    not (is_number(got) and abs(got - expected) < 1.0e-4 * abs(expected))
  end

IO.puts(if Enum.any?(wrong), do: "wrong", else: "right")
System.halt(if Enum.any?(wrong), do: 1, else: 0)
