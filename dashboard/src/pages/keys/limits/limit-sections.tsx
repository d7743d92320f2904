/** The sections of a key's form about rates and addresses. One that has nothing yet is closed, so that the form stays short. */
import { Accordion, Stack, TagsInput, Text, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { useState } from "react";
import { texts, useTexts } from "../../../language/language.tsx";
import { Fields } from "../../../parts/fields.tsx";
import type { KeyValues } from "../key-values.ts";
import { isAddress, isCount, type LimitValues, most } from "./limit-values.ts";
import { ModelRateFields } from "./model-rate-fields.tsx";

const said = texts(
  {
    rates: "Rates",
    ratesAbout: "Beside the rate of the account. Empty: the account's rate alone.",
    requests: "Requests a minute",
    tokens: "Tokens a minute",
    concurrent: "Calls at a time",
    concurrentAbout: "One more is refused at once.",
    wrong: (most: string) => `Enter a whole number from 1 to ${most}`,
    addresses: "Addresses",
    addressesAbout:
      "Where the key may be used from: addresses and networks, each followed by Enter. None: from anywhere.",
    addressesHint: "192.0.2.7 or 2001:db8::/32",
    addressWrong: (address: string) => `${address} is neither an address nor a network`,
  },
  {
    rates: "速率",
    ratesAbout: "在账户速率之外另行限制。留空则只受账户速率限制。",
    requests: "每分钟请求数",
    tokens: "每分钟 Token 数",
    concurrent: "同时调用数",
    concurrentAbout: "超出的调用会立即被拒绝。",
    wrong: (most: string) => `请输入 1 到 ${most} 的整数`,
    addresses: "IP 地址",
    addressesAbout: "允许使用此密钥的地址或网段，逐个输入并按回车键。不填则不限制。",
    addressesHint: "192.0.2.7 或 2001:db8::/32",
    addressWrong: (address: string) => `${address} 不是有效的地址或网段`,
  },
);

type Form = UseFormReturnType<KeyValues>;
type Section = "rates" | "addresses";

/** useLimitChecks returns what is wrong with each value, for the form to validate by. */
export function useLimitChecks() {
  const t = useTexts(said);
  const count = (most: number) => (text: string) => (isCount(text, most) ? null : t.wrong(most.toLocaleString()));
  return {
    requests: count(most.requests),
    tokens: count(most.tokens),
    concurrent: count(most.requests),
    rates: { requests: count(most.requests), tokens: count(most.tokens) },
    addresses: (addresses: string[]) => {
      const wrong = addresses.find((address) => !isAddress(address));
      return wrong === undefined ? null : t.addressWrong(wrong);
    },
  };
}

export function LimitSections({ form }: { readonly form: Form }) {
  const t = useTexts(said);
  const [opened, setOpened] = useState(() => sectionsWith(form.values));
  // A section with a fault is always open.
  const faulty = sectionsOf(Object.keys(form.errors));
  return (
    <Accordion
      multiple
      variant="contained"
      value={[...new Set([...opened, ...faulty])]}
      onChange={(sections) => setOpened(sections as Section[])}
    >
      <Accordion.Item value="rates">
        <Accordion.Control>{t.rates}</Accordion.Control>
        <Accordion.Panel>
          <RateFields form={form} />
        </Accordion.Panel>
      </Accordion.Item>
      <Accordion.Item value="addresses">
        <Accordion.Control>{t.addresses}</Accordion.Control>
        <Accordion.Panel>
          <TagsInput
            aria-label={t.addresses}
            description={t.addressesAbout}
            placeholder={form.values.addresses.length === 0 ? t.addressesHint : ""}
            maxTags={most.addresses}
            splitChars={[",", ";", " ", "\n"]}
            acceptValueOnBlur
            {...form.getInputProps("addresses")}
          />
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}

function RateFields({ form }: { readonly form: Form }) {
  const t = useTexts(said);
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        {t.ratesAbout}
      </Text>
      <Fields cols={{ base: 1, xs: 3 }}>
        <TextInput label={t.requests} inputMode="numeric" autoComplete="off" {...form.getInputProps("requests")} />
        <TextInput label={t.tokens} inputMode="numeric" autoComplete="off" {...form.getInputProps("tokens")} />
        <TextInput
          label={t.concurrent}
          description={t.concurrentAbout}
          inputMode="numeric"
          autoComplete="off"
          {...form.getInputProps("concurrent")}
        />
      </Fields>
      <ModelRateFields form={form} />
    </Stack>
  );
}

/** sectionsWith returns the sections that have a value. */
function sectionsWith({ requests, tokens, concurrent, rates, addresses }: LimitValues): Section[] {
  const hasRates = `${requests}${tokens}${concurrent}` !== "" || rates.length > 0;
  return [...(hasRates ? (["rates"] as const) : []), ...(addresses.length > 0 ? (["addresses"] as const) : [])];
}

/** sectionsOf returns the sections that these fields are in. */
function sectionsOf(fields: readonly string[]): Section[] {
  const rates = /^(?:requests|tokens|concurrent|rates)\b/;
  return [
    ...(fields.some((field) => rates.test(field)) ? (["rates"] as const) : []),
    ...(fields.includes("addresses") ? (["addresses"] as const) : []),
  ];
}
