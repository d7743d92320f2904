/** A name of a machine's making, such as `accounts/vendor/models/name`: its lines may break behind its signs, as they do behind hyphens. */
import { Fragment } from "react";

export function Breakable({ children: name }: { readonly children: string }) {
  const [first, ...others] = name.split(/(?<=[/:@_.[])(?=[\p{L}\p{N}])/u);
  return (
    <>
      {first}
      {others.map((part, place) => (
        <Fragment key={place}>
          <wbr />
          {part}
        </Fragment>
      ))}
    </>
  );
}
