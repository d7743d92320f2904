/** The account's ledger, newest first. Charges are shown on request only: there is one for each call. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Switch } from "@mantine/core";
import { IconReceipt } from "@tabler/icons-react";
import { useState } from "react";
import { AccountService } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { EntryList, withoutCharges } from "../../parts/entry-list.tsx";
import { fromTheTop, paged } from "../../parts/paged.ts";
import { PagedList } from "../../parts/paged-list.tsx";
import { Section } from "../../parts/section.tsx";
import { useUser } from "../../session.tsx";

const said = texts(
  {
    title: "History",
    charges: "Show charges",
    none: "No entries yet",
    noneAbout: "Recharges, refunds and grants appear here. Redeem a code to recharge.",
    noneOperator: "Recharges, refunds and grants appear here. Add funds to recharge.",
  },
  {
    title: "记录",
    charges: "显示消费",
    none: "暂无记录",
    noneAbout: "充值、退款和赠送会显示在这里。使用兑换码即可充值。",
    noneOperator: "充值、退款和赠送会显示在这里。点击“增加额度”即可充值。",
  },
);

export function History() {
  const t = useTexts(said);
  const { operator } = useUser();
  const [charges, setCharges] = useState(false);
  const entries = useInfiniteQuery(
    AccountService.method.listLedger,
    { pageSize: 25, kinds: charges ? [] : withoutCharges, pageToken: fromTheTop },
    paged,
  );
  return (
    <Section
      title={t.title}
      actions={
        <Switch
          label={t.charges}
          checked={charges}
          onChange={(event) => setCharges(event.currentTarget.checked)}
          labelPosition="left"
        />
      }
    >
      <PagedList
        of={entries}
        entriesOf={(page) => page.entries}
        lines={5}
        empty={
          <Empty icon={IconReceipt} title={t.none}>
            {operator ? t.noneOperator : t.noneAbout}
          </Empty>
        }
      >
        {(all) => <EntryList of={all} linked="/usage/$requestId" />}
      </PagedList>
    </Section>
  );
}
