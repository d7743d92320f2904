/** Parted shows a name of several parts, such as an RPC's or an address: its lines break between the parts, if there is room for each. */
import { Fragment } from "react";

export function Parted({ of }: { readonly of: string }) {
  return of.split(/(?<=[./:@])(?=[^./:@])/).map((part, i) => (
    <Fragment key={i}>
      {i > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}
