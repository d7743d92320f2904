/** The fields of a key, to create or change it. Invalid input is reported before anything is sent. */
import { Select, Stack, Switch, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import type { ReactNode } from "react";
import { isBudgetValid } from "../../budgets/budget-values.ts";
import { BudgetsEditor } from "../../budgets/budgets-editor.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { AmountField, useLimitCheck } from "../../parts/amount-field.tsx";
import { Fields } from "../../parts/fields.tsx";
import { FormButtons } from "../../parts/form-buttons.tsx";
import { expiryChoices, isSameExpiry, type KeyValues, localText } from "./key-values.ts";
import { LabelFields, useLabelChecks } from "./limits/label-fields.tsx";
import { LimitSections, useLimitChecks } from "./limits/limit-sections.tsx";
import { ModelPicker } from "./model-picker.tsx";

const said = texts(
  {
    name: "Name",
    nameNeeded: "Enter a name",
    nameLong: "Use at most 200 characters",
    limit: "Credit limit",
    limitAbout: "What the key may spend in its life. Empty: only the balance of the account bounds it.",
    budgetsAbout: "What the key may spend in a window of time. All of them hold at once.",
    expiry: "Expires",
    never: "Never",
    in30: "In 30 days",
    in90: "In 90 days",
    in365: "In a year",
    at: "At a date and time",
    moment: "Date and time",
    momentAbout: (zone: string) => `In your time zone, ${zone}.`,
    momentWrong: "Choose a moment in the future",
    administrator: "Administrator",
    administratorAbout:
      "Can create, change and delete the keys of this account, and read its usage, through the API. For software that manages keys.",
    disabled: "Disabled",
    disabledAbout: "Calls with the key are refused until it is enabled again.",
  },
  {
    name: "名称",
    nameNeeded: "请输入名称",
    nameLong: "请使用不超过 200 个字符",
    limit: "消费上限",
    limitAbout: "密钥总共可消费的金额。留空则只受账户余额限制。",
    budgetsAbout: "密钥在一段时间内可消费的金额。所有预算同时生效。",
    expiry: "过期时间",
    never: "永不",
    in30: "30 天后",
    in90: "90 天后",
    in365: "一年后",
    at: "指定日期和时间",
    moment: "日期和时间",
    momentAbout: (zone: string) => `按您所在的时区：${zone}。`,
    momentWrong: "请选择将来的时间",
    administrator: "管理员",
    administratorAbout: "可通过 API 创建、修改和删除本账户的密钥，并查看用量。适用于管理密钥的程序。",
    disabled: "停用",
    disabledAbout: "在重新启用之前，使用此密钥的调用都会被拒绝。",
  },
);

interface Props {
  readonly initial: KeyValues;
  /** exists is whether the key exists: then it can also be disabled. */
  readonly exists: boolean;
  /** action is the label of the button. */
  readonly action: string;
  readonly busy: boolean;
  readonly onSubmit: (values: KeyValues) => void;
  readonly onCancel: () => void;
  /** children shows why the last attempt failed. */
  readonly children?: ReactNode;
}

export function KeyForm({ initial, exists, action, busy, onSubmit, onCancel, children }: Props) {
  const t = useTexts(said);
  const checks = { ...useLabelChecks(), ...useLimitChecks(), limit: useLimitCheck() };
  const form = useForm<KeyValues>({
    initialValues: initial,
    validate: {
      ...checks,
      name: (name) => (name.trim() === "" ? t.nameNeeded : name.trim().length > 200 ? t.nameLong : null),
      // Each budget shows its own fault.
      budgets: (budgets) => (budgets.every(isBudgetValid) ? null : true),
      expiresAt: (expiresAt, values) => {
        if (values.expiry !== "at" || isSameExpiry(values, initial)) return null;
        return new Date(expiresAt).getTime() > Date.now() ? null : t.momentWrong;
      },
    },
  });
  const labels = { never: t.never, "30": t.in30, "90": t.in90, "365": t.in365, at: t.at };
  return (
    <form onSubmit={form.onSubmit(onSubmit)} noValidate>
      <Stack>
        <TextInput
          label={t.name}
          required
          maxLength={250}
          autoComplete="off"
          data-autofocus
          {...form.getInputProps("name")}
        />
        <LabelFields form={form} />
        <AmountField label={t.limit} description={t.limitAbout} {...form.getInputProps("limit")} />
        <BudgetsEditor
          value={form.values.budgets}
          onChange={(budgets) => form.setFieldValue("budgets", budgets)}
          shown={form.errors.budgets !== undefined}
          about={t.budgetsAbout}
        />
        <ModelPicker value={form.values.models} onChange={(models) => form.setFieldValue("models", models)} />
        <Fields cols={{ base: 1, xs: 2 }}>
          <Select
            label={t.expiry}
            data={expiryChoices.map((value) => ({ value, label: labels[value] }))}
            allowDeselect={false}
            {...form.getInputProps("expiry")}
          />
          {form.values.expiry === "at" && (
            <TextInput
              type="datetime-local"
              label={t.moment}
              description={t.momentAbout(Intl.DateTimeFormat().resolvedOptions().timeZone)}
              min={localText(new Date())}
              max="9999-12-31T23:59"
              {...form.getInputProps("expiresAt")}
            />
          )}
        </Fields>
        <LimitSections form={form} />
        <Switch
          label={t.administrator}
          description={t.administratorAbout}
          {...form.getInputProps("administrator", { type: "checkbox" })}
        />
        {exists && (
          <Switch
            label={t.disabled}
            description={t.disabledAbout}
            {...form.getInputProps("disabled", { type: "checkbox" })}
          />
        )}
        {children}
        <FormButtons action={action} busy={busy} onCancel={onCancel} />
      </Stack>
    </form>
  );
}
