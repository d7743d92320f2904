/** Says that figures are of the newest calls alone, because there are more than are read at once. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { useFormat } from "../language/format.ts";
import { texts, useTexts } from "../language/language.tsx";

const said = texts(
  {
    partial: (since: string) =>
      `There are more calls than are read at once. These figures are of the calls since ${since}.`,
  },
  { partial: (since: string) => `调用数超出一次可读取的数量，以下数据仅包含 ${since} 之后的调用。` },
);

export function PartialFigures({ since }: { readonly since: Timestamp }) {
  return useTexts(said).partial(useFormat().moment(since));
}
