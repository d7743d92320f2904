/** Records a recharge, a refund or a grant of an account. */
import { Button, Menu } from "@mantine/core";
import { IconArrowBackUp, IconChevronDown, IconCoins, IconGift } from "@tabler/icons-react";
import { useState } from "react";
import { type Account, EntryKind } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { EntryForm } from "./entry-form.tsx";

const said = texts(
  {
    record: "Record",
    recharge: "Recharge",
    rechargeMeans: "Record money that came in. It counts for the tier.",
    refund: "Refund",
    refundMeans: "Record money that was given back. It lowers what counts for the tier.",
    grant: "Grant",
    grantMeans: "Give credit without money. It does not count for the tier.",
  },
  {
    record: "记账",
    recharge: "充值",
    rechargeMeans: "记录已收到的款项，计入等级。",
    refund: "退款",
    refundMeans: "记录已退还的款项，会降低计入等级的金额。",
    grant: "赠送",
    grantMeans: "赠送额度，不计入等级。",
  },
);

const kinds = [
  [EntryKind.RECHARGE, "recharge", "rechargeMeans", IconCoins],
  [EntryKind.REFUND, "refund", "refundMeans", IconArrowBackUp],
  [EntryKind.GRANT, "grant", "grantMeans", IconGift],
] as const;

export function RecordEntry({ account }: { readonly account: Account }) {
  const t = useTexts(said);
  const [kind, setKind] = useState<EntryKind>();
  const close = () => setKind(undefined);
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button rightSection={<IconChevronDown size={16} aria-hidden />}>{t.record}</Button>
        </Menu.Target>
        <Menu.Dropdown>
          {kinds.map(([kind, name, , Icon]) => (
            <Menu.Item key={kind} leftSection={<Icon size={16} aria-hidden />} onClick={() => setKind(kind)}>
              {t[name]}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {kinds.map(([one, name, means]) => (
        <Dialog key={one} opened={kind === one} onClose={close} title={t[name]}>
          <EntryForm account={account} kind={one} action={t[name]} about={t[means]} onClose={close} />
        </Dialog>
      ))}
    </>
  );
}
