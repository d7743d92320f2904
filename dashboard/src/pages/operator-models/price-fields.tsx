/** A model's price: rates a million, in the gateway's unit, with the vendor's beside each; bands of long prompts, and service modes. */
import { Accordion, Stack, Text, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import type { ModelPrice } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Fields } from "../../parts/fields.tsx";
import { useSession } from "../../session.tsx";
import { Bands, Modes } from "./price-cards.tsx";
import { type PriceValues, type RateKey, type Rates, rateKeys } from "./price-values.ts";
import { Amount, RateFields } from "./rate-fields.tsx";

const said = texts(
  {
    about: (unit: string) => `${unit} per million tokens; for speech, per million characters.`,
    characters: "A million characters",
    webSearch: "A web search",
    request: "A request",
    regional: "Factor in a region",
    further: "Further rates",
    furtherAbout: "An empty one costs what input or output costs.",
    long: "Long prompts",
    longAbout: "All rates of a call whose prompt is longer.",
    modes: "Service modes",
    modesAbout: "Requests for a mode without rates are refused.",
  },
  {
    about: (unit: string) => `单位：${unit}，按每百万 Token 计；语音按每百万字符计。`,
    characters: "每百万字符",
    webSearch: "每次网络搜索",
    request: "每次请求",
    regional: "指定区域系数",
    further: "其他费率",
    furtherAbout: "留空则与输入或输出同价。",
    long: "长提示",
    longAbout: "提示超过此长度时，整次调用适用的费率。",
    modes: "服务模式",
    modesAbout: "使用没有费率的模式的请求会被拒绝。",
  },
);

interface Props {
  readonly value: PriceValues;
  readonly onChange: (value: PriceValues) => void;
  /** vendor is the vendor's price, in millionths of a dollar. */
  readonly vendor: ModelPrice | undefined;
  /** kind is the model's: chat, embedding or speech. */
  readonly kind: string;
  readonly errorAt?: ((key: string) => string | undefined) | undefined;
}

const firstRates: readonly RateKey[] = ["input", "output", "cache_read"];
const ofEmbedding: readonly RateKey[] = ["input"];

export function PriceFields({ value, onChange, vendor, kind, errorAt }: Props) {
  const t = useTexts(said);
  const { unit } = useSession();
  const shown = kind === "embedding" ? ofEmbedding : firstRates;
  const setRates = (rates: Rates) => onChange({ ...value, rates });
  return (
    <Stack gap="sm">
      <Text size="xs" c="dimmed">
        {t.about(unit.code)}
      </Text>
      {kind === "speech" ? (
        <Amount
          label={t.characters}
          value={value.characters}
          vendor={vendor?.characters}
          onChange={(characters) => onChange({ ...value, characters })}
          error={errorAt?.("characters")}
        />
      ) : (
        <RateFields {...{ keys: shown, vendor, errorAt }} value={value.rates} onChange={setRates} />
      )}
      {kind === "chat" && (
        <Accordion variant="separated" multiple chevronPosition="left">
          <Part name="further" title={t.further} about={t.furtherAbout}>
            <RateFields
              {...{ vendor, errorAt }}
              keys={rateKeys.filter((key) => !shown.includes(key))}
              value={value.rates}
              onChange={setRates}
            />
            <Fields cols={{ base: 1, xs: 3 }}>
              <Amount
                label={t.webSearch}
                value={value.webSearch}
                vendor={vendor?.webSearch}
                onChange={(webSearch) => onChange({ ...value, webSearch })}
                error={errorAt?.("web_search")}
              />
              <Amount
                label={t.request}
                value={value.request}
                vendor={vendor?.request}
                onChange={(request) => onChange({ ...value, request })}
                error={errorAt?.("request")}
              />
              <TextInput
                label={t.regional}
                inputMode="decimal"
                value={value.regional}
                onChange={(event) => onChange({ ...value, regional: event.currentTarget.value })}
                error={errorAt?.("regional")}
                autoComplete="off"
              />
            </Fields>
          </Part>
          <Part name="long" title={t.long} about={t.longAbout}>
            <Bands value={value.long} onChange={(long) => onChange({ ...value, long })} />
          </Part>
          <Part name="modes" title={t.modes} about={t.modesAbout}>
            <Modes value={value.modes} onChange={(modes) => onChange({ ...value, modes })} />
          </Part>
        </Accordion>
      )}
    </Stack>
  );
}

interface PartProps {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly children: ReactNode;
}

function Part({ name, title, about, children }: PartProps) {
  return (
    <Accordion.Item value={name}>
      <Accordion.Control>{title}</Accordion.Control>
      <Accordion.Panel>
        <Stack gap="sm">
          <Text size="xs" c="dimmed">
            {about}
          </Text>
          {children}
        </Stack>
      </Accordion.Panel>
    </Accordion.Item>
  );
}
