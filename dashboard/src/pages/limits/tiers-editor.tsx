/** The tiers, as a form: which accounts they would change is shown before they are saved. */
import { Box, Button, Paper, Stack, TextInput } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useId, useState } from "react";
import type { Tier } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import type { Configuration } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { isSame } from "../../configuration/document.ts";
import { useFaultAt } from "../../configuration/faults.tsx";
import { FileNotice } from "../../configuration/in-file.tsx";
import { ReviewBar } from "../../configuration/review-bar.tsx";
import { type Edition, useDirty, useEdition } from "../../configuration/use-edition.ts";
import { useReview } from "../../configuration/use-review.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { AmountField } from "../../parts/amount-field.tsx";
import { Fields } from "../../parts/fields.tsx";
import { RemoveRow } from "../../parts/row-buttons.tsx";
import { Section } from "../../parts/section.tsx";
import { limitSections } from "./limit-sections.ts";
import { TierTable } from "./limit-tables.tsx";
import { isInFile } from "./setting-form.tsx";
import { TierChanges } from "./tier-changes.tsx";
import { sorted, type TierValues, tierEntries, tierValuesOf } from "./tier-values.ts";

const said = texts(
  {
    title: limitSections.en.tiers,
    about: "What an account may do in a minute. Its tier follows from what it has recharged, less refunds.",
    name: "Name",
    recharge: "Recharged from",
    requests: "Requests a minute",
    tokens: "Tokens a minute",
    noLimit: "No limit",
    of: (what: string, number: number) => `${what}, tier ${number}`,
    add: "Add a tier",
    remove: (name: string) => `Remove ${name}`,
    tier: "tier",
    change: "Change the tiers",
  },
  {
    title: limitSections["zh-CN"].tiers,
    about: "账户每分钟的用量上限。等级由累计充值（扣除退款）决定。",
    name: "名称",
    recharge: "累计充值达到",
    requests: "每分钟请求数",
    tokens: "每分钟 Token 数",
    noLimit: "不限",
    of: (what: string, number: number) => `${what}，等级 ${number}`,
    add: "添加等级",
    remove: (name: string) => `删除 ${name}`,
    tier: "等级",
    change: "更改等级",
  },
);

interface Props {
  readonly configuration: Configuration;
  /** tiers are those in force. */
  readonly tiers: readonly Tier[];
}

export function TiersEditor({ configuration, tiers }: Props) {
  const t = useTexts(said);
  const { edition, onDirty, onSaved } = useEdition(configuration);
  if (!isInFile(configuration, "tiers")) {
    return <Editor key={edition.version} configuration={edition} {...{ tiers, onDirty, onSaved }} />;
  }
  return (
    <Section id="tiers" title={t.title} about={t.about}>
      <FileNotice fileName={configuration.fileName} />
      <TierTable tiers={tiers} />
    </Section>
  );
}

function Editor({ configuration, tiers, onDirty, onSaved }: Props & Pick<Edition, "onDirty" | "onSaved">) {
  const t = useTexts(said);
  const formId = useId();
  const [initial] = useState(() => tierValuesOf(configuration.document, tiers));
  const [values, setValues] = useState(initial);
  const review = useReview(configuration);
  const faultAt = useFaultAt();
  const entries = tierEntries(values);
  const isChanged = !isSame(entries, tierEntries(initial));
  useDirty(isChanged, onDirty);
  const set = (key: number, change: Partial<TierValues>) =>
    setValues(values.map((tier) => (tier.key === key ? { ...tier, ...change } : tier)));
  const add = () => {
    const key = Math.max(-1, ...values.map((tier) => tier.key)) + 1;
    setValues([...values, { key, name: "", recharge: "", requestsPerMinute: "", tokensPerMinute: "" }]);
  };
  // Faults name a tier by its place among those that were sent.
  const places = new Map(sorted(values).map((tier, place) => [tier.key, place]));
  return (
    <Section id="tiers" title={t.title} about={t.about}>
      <form
        id={formId}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          review.review([{ settings: { tiers: entries } }]);
        }}
      >
        <Stack gap="sm">
          {values.map((tier, i) => (
            <TierRow
              key={tier.key}
              tier={tier}
              number={i + 1}
              faultOf={(key) => faultAt(review.error, `tiers[${places.get(tier.key) ?? i}].${key}`)}
              onChange={(change) => set(tier.key, change)}
              onRemove={values.length > 1 ? () => setValues(values.filter(({ key }) => key !== tier.key)) : undefined}
            />
          ))}
        </Stack>
      </form>
      <ReviewBar
        of={review}
        {...{ formId, isChanged, onSaved }}
        title={t.change}
        onUndo={() => setValues(initial)}
        first={
          <Button variant="default" size="sm" leftSection={<IconPlus size={14} aria-hidden />} onClick={add}>
            {t.add}
          </Button>
        }
      >
        <TierChanges tiers={entries} />
      </ReviewBar>
    </Section>
  );
}

interface RowProps {
  readonly tier: TierValues;
  readonly number: number;
  readonly faultOf: (key: string) => string | undefined;
  readonly onChange: (change: Partial<TierValues>) => void;
  readonly onRemove: (() => void) | undefined;
}

function TierRow({ tier, number, faultOf, onChange, onRemove }: RowProps) {
  const t = useTexts(said);
  const isFirst = number === 1;
  const field = (label: string, name: keyof Omit<TierValues, "key">, key: string) => ({
    label,
    "aria-label": t.of(label, number),
    autoComplete: "off",
    value: tier[name],
    onChange: (event: { currentTarget: { value: string } }) => onChange({ [name]: event.currentTarget.value }),
    error: faultOf(key),
  });
  return (
    <Paper withBorder p="sm" component="section" aria-label={tier.name || `${t.tier} ${number}`}>
      <Box pos="relative">
        <Fields cols={{ base: 1, xs: 2, md: 4 }} pe={{ base: 0, md: 46 }}>
          <TextInput {...field(t.name, "name", "name")} />
          <AmountField {...field(t.recharge, "recharge", "recharge")} placeholder={isFirst ? "0" : ""} />
          <TextInput {...field(t.requests, "requestsPerMinute", "requests_per_minute")} inputMode="numeric" />
          <TextInput
            {...field(t.tokens, "tokensPerMinute", "tokens_per_minute")}
            inputMode="numeric"
            placeholder={t.noLimit}
          />
        </Fields>
        {onRemove && (
          // On a phone beside the first label, so that the fields have the whole width.
          <Box pos="absolute" top={{ base: -10, md: 24 }} right={0}>
            <RemoveRow label={t.remove(tier.name || `${t.tier} ${number}`)} onClick={onRemove} />
          </Box>
        )}
      </Box>
    </Paper>
  );
}
