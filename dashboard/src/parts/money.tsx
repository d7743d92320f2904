/** An amount of money, rounded for reading. The tooltip has it exactly. */
import { useFormat } from "../language/format.ts";

export function Money({ of }: { readonly of: bigint }) {
  const format = useFormat();
  const [rounded, exact] = [format.rounded(of), format.money(of)];
  return rounded === exact ? rounded : <span title={exact}>{rounded}</span>;
}
