/** Links to an account's page. */
import { Anchor, type AnchorProps } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

interface Props extends Omit<AnchorProps, "component"> {
  readonly id: string;
  readonly title?: string;
  readonly children: ReactNode;
}

export function AccountLink({ id, children, ...look }: Props) {
  return (
    <Anchor component={Link} to="/operator/accounts/$accountId" params={{ accountId: id } as never} {...look}>
      {children}
    </Anchor>
  );
}
