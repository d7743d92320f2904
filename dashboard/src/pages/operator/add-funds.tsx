/** Adds funds to an account: money that came in, or credit without money. A refund takes some back. */
import { Button, Group, Menu, SegmentedControl } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconArrowBackUp, IconDots, IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { type Account, EntryKind } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { EntryForm } from "./entry-form.tsx";

const said = texts(
  {
    add: "Add funds",
    kind: "What it is",
    recharge: "Recharge",
    rechargeMeans: "Money that came in. It counts for the tier.",
    refund: "Refund",
    refundMeans: "Money that was given back. It lowers what counts for the tier.",
    grant: "Grant",
    grantMeans: "Credit without money. It does not count for the tier.",
    more: "More about funds",
  },
  {
    add: "增加额度",
    kind: "类型",
    recharge: "充值",
    rechargeMeans: "已收到的款项，计入等级。",
    refund: "退款",
    refundMeans: "已退还的款项，会降低计入等级的金额。",
    grant: "赠送",
    grantMeans: "赠送的额度，不计入等级。",
    more: "更多资金操作",
  },
);

interface Props {
  readonly account: Account;
  /** as is where it stands: the foremost of a page, with the way to a refund; a step to take; beside a figure. Default: "page". */
  readonly as?: "page" | "step" | "figure";
}

/** looks are the buttons by where they stand. */
const looks = {
  page: { size: "sm", variant: "filled" },
  step: { size: "xs", variant: "filled" },
  figure: { size: "compact-sm", variant: "light" },
} as const;

export function AddFunds({ account, as = "page" }: Props) {
  const t = useTexts(said);
  const [adding, add] = useDisclosure();
  const [refunding, refund] = useDisclosure();
  return (
    <Group gap={4} wrap="nowrap">
      <Button {...looks[as]} leftSection={<IconPlus size={16} aria-hidden />} onClick={add.open}>
        {t.add}
      </Button>
      {as === "page" && (
        <Menu position="bottom-end">
          <Menu.Target>
            <Button variant="default" px="xs" aria-label={t.more}>
              <IconDots size={16} aria-hidden />
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<IconArrowBackUp size={16} aria-hidden />} onClick={refund.open}>
              {t.refund}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
      <Dialog opened={adding} onClose={add.close} title={t.add}>
        <Adding account={account} onClose={add.close} />
      </Dialog>
      <Dialog opened={refunding} onClose={refund.close} title={t.refund}>
        <EntryForm
          account={account}
          kind={EntryKind.REFUND}
          action={t.refund}
          about={t.refundMeans}
          onClose={refund.close}
        />
      </Dialog>
    </Group>
  );
}

type Kind = "recharge" | "grant";

const kinds = { recharge: EntryKind.RECHARGE, grant: EntryKind.GRANT } as const;

function Adding({ account, onClose }: { readonly account: Account; readonly onClose: () => void }) {
  const t = useTexts(said);
  const [kind, setKind] = useState<Kind>("recharge");
  return (
    <EntryForm
      account={account}
      kind={kinds[kind]}
      action={t.add}
      about={kind === "recharge" ? t.rechargeMeans : t.grantMeans}
      onClose={onClose}
    >
      <SegmentedControl
        aria-label={t.kind}
        fullWidth
        data={[
          { value: "recharge", label: t.recharge },
          { value: "grant", label: t.grant },
        ]}
        value={kind}
        onChange={setKind}
      />
    </EntryForm>
  );
}
