/** A model's price: rates a million, in the gateway's unit, with the vendor's beside each; bands of long prompts, and service modes. */
import { Accordion, ActionIcon, Button, Group, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import type { ReactNode } from "react";
import type { ModelPrice } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { writeAmount } from "../../parts/amount.ts";
import { useSession } from "../../session.tsx";
import {
  type Band,
  type Card,
  type ModeKey,
  modeKeys,
  noRates,
  type PriceValues,
  type RateKey,
  type Rates,
  rateKeys,
} from "./price-values.ts";

const said = texts(
  {
    about: (unit: string) => `${unit} per million tokens; for speech, per million characters.`,
    input: "Input",
    output: "Output",
    cache_read: "Cache read",
    cache_write: "Cache write",
    cache_write_hour: "Cache write, an hour",
    input_audio: "Audio input",
    input_image: "Image input",
    output_audio: "Audio output",
    characters: "A million characters",
    webSearch: "A web search",
    request: "A request",
    regional: "Factor in a region",
    vendor: (price: string) => `Vendor: $${price}`,
    further: "Further rates",
    furtherAbout: "An empty one costs what input or output costs.",
    long: "Long prompts",
    longAbout: "All rates of a call whose prompt is longer.",
    above: "Longer than (tokens)",
    addBand: "Add a bound",
    removeBand: (above: string) => `Remove the bound ${above}`,
    modes: "Service modes",
    modesAbout: "Requests for a mode without rates are refused.",
    priority: "Priority",
    fast: "Fast",
    flex: "Flex",
    batch: "Batch",
    addMode: (mode: string) => `Add ${mode}`,
    removeMode: (mode: string) => `Remove ${mode}`,
  },
  {
    about: (unit: string) => `每百万 Token 的${unit}；语音按每百万字符计。`,
    input: "输入",
    output: "输出",
    cache_read: "缓存读取",
    cache_write: "缓存写入",
    cache_write_hour: "缓存写入（一小时）",
    input_audio: "音频输入",
    input_image: "图像输入",
    output_audio: "音频输出",
    characters: "每百万字符",
    webSearch: "每次网络搜索",
    request: "每次请求",
    regional: "指定区域系数",
    vendor: (price: string) => `厂商价：$${price}`,
    further: "其他费率",
    furtherAbout: "留空则与输入或输出同价。",
    long: "长提示",
    longAbout: "提示超过此长度时，整次调用适用的费率。",
    above: "超过（Token）",
    addBand: "添加界限",
    removeBand: (above: string) => `删除界限 ${above}`,
    modes: "服务模式",
    modesAbout: "请求没有费率的模式会被拒绝。",
    priority: "优先",
    fast: "快速",
    flex: "弹性",
    batch: "批处理",
    addMode: (mode: string) => `添加${mode}`,
    removeMode: (mode: string) => `删除${mode}`,
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
            <SimpleGrid cols={{ base: 1, xs: 3 }}>
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
            </SimpleGrid>
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

const vendorFields = {
  input: "input",
  output: "output",
  cache_read: "cacheRead",
  cache_write: "cacheWrite",
  cache_write_hour: "cacheWriteHour",
  input_audio: "inputAudio",
  input_image: "inputImage",
  output_audio: "outputAudio",
} as const satisfies Record<RateKey, keyof ModelPrice>;

interface RatesProps {
  readonly keys: readonly RateKey[];
  readonly value: Rates;
  readonly onChange: (value: Rates) => void;
  readonly vendor?: ModelPrice | undefined;
  readonly errorAt?: ((key: string) => string | undefined) | undefined;
}

function RateFields({ keys, value, onChange, vendor, errorAt }: RatesProps) {
  const t = useTexts(said);
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }}>
      {keys.map((key) => (
        <Amount
          key={key}
          label={t[key]}
          value={value[key]}
          vendor={vendor?.[vendorFields[key]]}
          onChange={(amount) => onChange({ ...value, [key]: amount })}
          error={errorAt?.(key)}
        />
      ))}
    </SimpleGrid>
  );
}

interface AmountProps {
  readonly label: string;
  readonly value: string;
  /** vendor is in millionths of a dollar. */
  readonly vendor: bigint | undefined;
  readonly onChange: (value: string) => void;
  readonly error?: string | undefined;
}

function Amount({ label, value, vendor, onChange, error }: AmountProps) {
  const t = useTexts(said);
  const { unit } = useSession();
  return (
    <TextInput
      label={label}
      inputMode="decimal"
      autoComplete="off"
      leftSection={<span aria-hidden>{unit.symbol}</span>}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      description={vendor === undefined ? undefined : t.vendor(writeAmount(vendor))}
      inputWrapperOrder={["label", "input", "description", "error"]}
      error={error}
    />
  );
}

interface BandsProps {
  readonly value: readonly Band[];
  readonly onChange: (value: readonly Band[]) => void;
}

function Bands({ value, onChange }: BandsProps) {
  const t = useTexts(said);
  const set = (at: number, band: Band) => onChange(value.map((one, i) => (i === at ? band : one)));
  return (
    <Stack gap="md">
      {value.map((band, i) => (
        <Stack key={i} gap="xs">
          <Group gap="xs" align="flex-end" wrap="nowrap">
            <TextInput
              label={t.above}
              inputMode="numeric"
              autoComplete="off"
              value={band.above}
              onChange={(event) => set(i, { ...band, above: event.currentTarget.value })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              size="lg"
              aria-label={t.removeBand(band.above)}
              onClick={() => onChange(value.filter((_, at) => at !== i))}
            >
              <IconTrash size={16} aria-hidden />
            </ActionIcon>
          </Group>
          <RateFields keys={rateKeys} value={band.rates} onChange={(rates) => set(i, { ...band, rates })} />
        </Stack>
      ))}
      <Button
        variant="default"
        size="xs"
        w="fit-content"
        leftSection={<IconPlus size={14} aria-hidden />}
        onClick={() => onChange([...value, { above: "", rates: noRates }])}
      >
        {t.addBand}
      </Button>
    </Stack>
  );
}

interface ModesProps {
  readonly value: PriceValues["modes"];
  readonly onChange: (value: PriceValues["modes"]) => void;
}

function Modes({ value, onChange }: ModesProps) {
  const t = useTexts(said);
  const set = (mode: ModeKey, card: Card | undefined) => {
    const { [mode]: _, ...others } = value;
    onChange(card ? { ...others, [mode]: card } : others);
  };
  const written = modeKeys.filter((mode) => value[mode] !== undefined);
  const rest = modeKeys.filter((mode) => value[mode] === undefined);
  return (
    <Stack gap="md">
      {written.map((mode) => {
        const card = value[mode] ?? { rates: noRates, long: [] };
        return (
          <Stack key={mode} gap="xs" component="section" aria-label={t[mode]}>
            <Group justify="space-between">
              <Text fw={600} size="sm">
                {t[mode]}
              </Text>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={t.removeMode(t[mode])}
                onClick={() => set(mode, undefined)}
              >
                <IconTrash size={16} aria-hidden />
              </ActionIcon>
            </Group>
            <RateFields keys={rateKeys} value={card.rates} onChange={(rates) => set(mode, { ...card, rates })} />
            <Bands value={card.long} onChange={(long) => set(mode, { ...card, long })} />
          </Stack>
        );
      })}
      <Group gap="xs">
        {rest.map((mode) => (
          <Button
            key={mode}
            variant="default"
            size="xs"
            leftSection={<IconPlus size={14} aria-hidden />}
            onClick={() => set(mode, { rates: noRates, long: [] })}
          >
            {t.addMode(t[mode])}
          </Button>
        ))}
      </Group>
    </Stack>
  );
}
