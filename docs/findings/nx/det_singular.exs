# The gradient of Nx.LinAlg.determinant at a singular matrix: Nx raises, but for 2 x 2 and 3 x 3, which it writes out.
#
#     det([[x]]) is x, with the derivative 1, at x = 0, too;
#     at diag(2, 3, 5, 0) the gradient is 30 in the last place, and 0 elsewhere.
#
# Other sizes go through the LU decomposition, whose gradient solves with the factors: "can't solve for singular matrix".
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

diagonal = Nx.make_diagonal(Nx.tensor([2.0, 3.0, 5.0, 0.0]))
cases = [{"[[0]]", Nx.tensor([[0.0]]), [1.0]}, {"diag(2, 3, 5, 0)", diagonal, List.duplicate(0.0, 15) ++ [30.0]}]

wrong =
  for {name, at, expected} <- cases do
    got =
      try do
        Nx.to_flat_list(Nx.Defn.grad(at, &Nx.LinAlg.determinant/1))
      rescue
        error -> Exception.message(error)
      end

    IO.puts("Nx #{Application.spec(:nx, :vsn)}: gradient of det at #{name}: got #{inspect(got)}, expected #{inspect(expected)}")
    not (is_list(got) and Enum.zip_with(got, expected, &(is_number(&1) and abs(&1 - &2) < 1.0e-4)) |> Enum.all?())
  end

IO.puts(if Enum.any?(wrong), do: "wrong", else: "right")
System.halt(if Enum.any?(wrong), do: 1, else: 0)
