/**
 * The budgets of an account, as a part of a page: how they stand, and a dialog to set them and the time zone in which they begin. Whoever
 * shows it says how that is saved: an account its own, or the operator those that the operator sets.
 */
import { Button, Select, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import type { Account } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../language/language.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Failure } from "../parts/failure.tsx";
import { FormButtons } from "../parts/form-buttons.tsx";
import { Section } from "../parts/section.tsx";
import { BudgetMeters } from "./budget-meters.tsx";
import { budgetListOf, budgetValuesOf, isBudgetValid } from "./budget-values.ts";
import { BudgetsEditor } from "./budgets-editor.tsx";

const said = texts(
  {
    title: "Budgets",
    about: "What all keys together may spend by the day, week or month. Keys may have budgets of their own besides.",
    none: "There are none: the balance alone bounds what is spent.",
    change: "Change",
    save: "Save",
    zone: "Time zone",
    zoneAbout: "Days, weeks and months begin by its clocks, those of the keys' budgets too.",
    zoneBound: "The operator has set budgets that begin by it: ask the operator to change it.",
    zoneNow: (zone: string) => `Days begin by the clocks of ${zone}.`,
    nothing: "Nothing found",
  },
  {
    title: "预算",
    about: "所有密钥合计每天、每周或每月可消费的金额。密钥还可以另设自己的预算。",
    none: "尚未设置：消费只受余额限制。",
    change: "更改",
    save: "保存",
    zone: "时区",
    zoneAbout: "每天、每周和每月按该时区开始，密钥的预算也是如此。",
    zoneBound: "网关管理员设置的预算按该时区计算，如需更改，请联系网关管理员。",
    zoneNow: (zone: string) => `按 ${zone} 的时间计算每天的开始。`,
    nothing: "没有匹配项",
  },
);

/** BudgetsChange is what is sent: a field of it is left out where nothing of it is changed. */
export interface BudgetsChange {
  readonly budgets: ReturnType<typeof budgetListOf>;
  readonly timeZone: string;
}

interface Props {
  readonly account: Account;
  /** byOperator is whether the operator's budgets are set, and not the account's own. */
  readonly byOperator: boolean;
  readonly busy: boolean;
  readonly error: unknown;
  /** onSave resolves once it is saved, and rejects where it is refused. */
  readonly onSave: (change: BudgetsChange) => Promise<unknown>;
  readonly onOpen: () => void;
}

export function BudgetsSection({ account, byOperator, busy, error, onSave, onOpen }: Props) {
  const t = useTexts(said);
  const [changing, change] = useDisclosure();
  const { budgets, timeZone } = account;
  const open = () => {
    onOpen();
    change.open();
  };
  return (
    <Section
      title={t.title}
      about={t.about}
      actions={
        <Button variant="default" size="xs" onClick={open}>
          {t.change}
        </Button>
      }
    >
      {budgets.length === 0 ? <Text size="sm">{t.none}</Text> : <BudgetMeters budgets={budgets} />}
      {budgets.length > 0 && (
        <Text size="xs" c="dimmed">
          {t.zoneNow(timeZone)}
        </Text>
      )}
      <Dialog opened={changing} onClose={change.close} title={t.title} size="lg">
        <BudgetsForm
          account={account}
          byOperator={byOperator}
          busy={busy}
          error={error}
          onSave={(changed) =>
            // A refusal is shown by `error`.
            onSave(changed).then(change.close, () => {})
          }
          onCancel={change.close}
        />
      </Dialog>
    </Section>
  );
}

type FormProps = Omit<Props, "onOpen" | "onSave"> & {
  readonly onSave: (change: BudgetsChange) => void;
  readonly onCancel: () => void;
};

function BudgetsForm({ account, byOperator, busy, error, onSave, onCancel }: FormProps) {
  const t = useTexts(said);
  const [values, setValues] = useState(() => budgetValuesOf(account.budgets, byOperator));
  const [zone, setZone] = useState(account.timeZone);
  const [tried, setTried] = useState(false);
  const isBound = !byOperator && account.budgets.some((budget) => budget.byOperator && !budget.rolling);
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (values.every(isBudgetValid)) onSave({ budgets: budgetListOf(values), timeZone: zone });
      }}
    >
      <Stack>
        <BudgetsEditor value={values} onChange={setValues} shown={tried} />
        <Select
          label={t.zone}
          description={isBound ? t.zoneBound : t.zoneAbout}
          disabled={isBound}
          data={zonesWith(account.timeZone)}
          value={zone}
          onChange={(chosen) => chosen && setZone(chosen)}
          allowDeselect={false}
          searchable
          limit={100}
          nothingFoundMessage={t.nothing}
          maxDropdownHeight={240}
        />
        {error != null && <Failure error={error} />}
        <FormButtons action={t.save} busy={busy} onCancel={onCancel} />
      </Stack>
    </form>
  );
}

/** zonesWith lists the time zones that the browser knows, with UTC and the account's own. */
function zonesWith(own: string): string[] {
  return [...new Set(["UTC", own, ...Intl.supportedValuesOf("timeZone")])].sort();
}
