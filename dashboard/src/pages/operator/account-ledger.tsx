/** An account's ledger entries, newest first. */
import { SegmentedControl } from "@mantine/core";
import { IconReceipt } from "@tabler/icons-react";
import { useState } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { EntryList, withoutCharges } from "../../parts/entry-list.tsx";
import { PagedList } from "../../parts/paged-list.tsx";
import { Section } from "../../parts/section.tsx";
import { useEntries } from "./use-lists.ts";

const said = texts(
  {
    title: "Ledger",
    which: "Which entries",
    all: "All",
    recorded: "Without charges",
    none: "No entries yet",
    noneHow: "Record a recharge, or have the account claim a redeem code.",
  },
  {
    title: "账目",
    which: "显示哪些记录",
    all: "全部",
    recorded: "不含消费",
    none: "还没有收支记录",
    noneHow: "可记录一笔充值，或由账户使用兑换码。",
  },
);

export function AccountLedger({ accountId }: { readonly accountId: string }) {
  const t = useTexts(said);
  const [which, setWhich] = useState("all");
  const entries = useEntries(accountId, which === "all" ? [] : withoutCharges);
  return (
    <Section
      title={t.title}
      actions={
        <SegmentedControl
          aria-label={t.which}
          size="xs"
          value={which}
          onChange={setWhich}
          data={[
            { value: "all", label: t.all },
            { value: "recorded", label: t.recorded },
          ]}
        />
      }
    >
      <PagedList
        of={entries}
        entriesOf={(page) => page.entries}
        lines={5}
        empty={
          <Empty icon={IconReceipt} title={t.none}>
            {t.noneHow}
          </Empty>
        }
      >
        {(all) => <EntryList of={all} linked="/operator/requests/$requestId" />}
      </PagedList>
    </Section>
  );
}
