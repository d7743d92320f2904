/**
 * methodOption returns an option of an RPC. It is decoded once: `getOption` decodes at each look, which takes longer than most uses of an
 * option.
 */
import { type DescExtension, type DescMethod, getOption } from "@bufbuild/protobuf";
import type { GenExtension } from "@bufbuild/protobuf/codegenv2";
import type { MethodOptions } from "@bufbuild/protobuf/wkt";

const decoded = new Map<DescMethod, Map<DescExtension, unknown>>();

export function methodOption<T>(method: DescMethod, option: GenExtension<MethodOptions, T>): T {
  const known = decoded.get(method)?.get(option);
  if (known !== undefined) return known as T;
  const value = getOption(method, option);
  decoded.set(method, (decoded.get(method) ?? new Map()).set(option, value));
  return value;
}
