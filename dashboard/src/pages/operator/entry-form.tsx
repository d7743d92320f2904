/**
 * Asks for the amount and the reason of a ledger entry. An idempotency key makes sure that a repeated request records
 * it once.
 */
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { Stack, Text, Textarea } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { Account, EntryKind } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { readAmount } from "../../parts/amount.ts";
import { AmountField, useAmountCheck } from "../../parts/amount-field.tsx";
import { Failure } from "../../parts/failure.tsx";
import { FormButtons } from "../../parts/form-buttons.tsx";
import { newIdempotencyKey } from "../../parts/idempotency-key.ts";
import { notify } from "../../parts/notify.ts";
import { useForgetAnswers } from "./forget.ts";

const said = texts(
  {
    note: "Note",
    noteHint: "For the records: an invoice number, a reason",
    balance: (amount: string) => `The balance of the account is ${amount}.`,
    done: (amount: string) => `Recorded. The balance is now ${amount}.`,
  },
  {
    note: "备注",
    noteHint: "供存档，例如发票号或原因",
    balance: (amount: string) => `账户余额为 ${amount}。`,
    done: (amount: string) => `已记录，当前余额为 ${amount}。`,
  },
);

interface Props {
  readonly account: Account;
  /** kind is a recharge, a refund or a grant. */
  readonly kind: EntryKind;
  readonly action: string;
  readonly about: string;
  readonly onClose: () => void;
  /** children are fields before the amount. */
  readonly children?: ReactNode;
}

export function EntryForm({ account, kind, action, about, onClose, children }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const checkAmount = useAmountCheck();
  const forget = useForgetAnswers();
  const operator = createClient(OperatorService, useTransport());
  const [idempotencyKey] = useState(newIdempotencyKey);
  const record = useMutation({
    mutationFn: ({ amount, note }: { amount: bigint; note: string }) =>
      operator.recordEntry(
        { account: account.id, kind, amount, ...(note ? { note } : {}) },
        { headers: { "idempotency-key": idempotencyKey } },
      ),
    onSuccess: (answer) => {
      notify(t.done(format.money(answer.account?.balance ?? 0n)));
      onClose();
      return forget();
    },
  });
  const form = useForm({
    initialValues: { amount: "", note: "" },
    validate: { amount: checkAmount },
  });
  const submit = form.onSubmit(({ amount, note }) => {
    const millionths = readAmount(amount);
    if (millionths !== undefined) record.mutate({ amount: millionths, note: note.trim() });
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        {children}
        <Text size="sm">
          {about} {t.balance(format.money(account.balance))}
        </Text>
        <AmountField data-autofocus {...form.getInputProps("amount")} />
        <Textarea
          label={t.note}
          description={t.noteHint}
          maxLength={500}
          autosize
          minRows={2}
          {...form.getInputProps("note")}
        />
        {record.error && <Failure error={record.error} />}
        <FormButtons action={action} busy={record.isPending} onCancel={onClose} />
      </Stack>
    </form>
  );
}
