/** A model's id, which leads to its page: that for callers, or the operator's. */
import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Breakable } from "./breakable.tsx";

interface Props {
  readonly id: string;
  /** operators is whether it leads to the operator's page. */
  readonly operators?: boolean;
}

export function ModelLink({ id, operators = false }: Props) {
  const to = operators ? "/operator/models/$modelId" : "/models/$modelId";
  return (
    <Anchor
      fz="inherit"
      style={{ overflowWrap: "anywhere" }}
      renderRoot={(props) => <Link to={to} params={{ modelId: id }} {...props} />}
    >
      <Breakable>{id}</Breakable>
    </Anchor>
  );
}
