/** The rates of long prompts and of service modes. */
import { Group, Stack, Text, TextInput } from "@mantine/core";
import { texts, useTexts } from "../../language/language.tsx";
import { AddRow, RemoveRow } from "../../parts/row-buttons.tsx";
import { type Band, type Card, type ModeKey, modeKeys, noRates, type PriceValues, rateKeys } from "./price-values.ts";
import { RateFields } from "./rate-fields.tsx";

const said = texts(
  {
    above: "Longer than (tokens)",
    addBand: "Add a bound",
    removeBand: (above: string) => `Remove the bound ${above}`,
    modes: "Service modes",
    priority: "Priority",
    fast: "Fast",
    ultrafast: "Ultrafast",
    flex: "Flex",
    batch: "Batch",
    addMode: (mode: string) => `Add ${mode}`,
    removeMode: (mode: string) => `Remove ${mode}`,
  },
  {
    above: "超过（Token）",
    addBand: "添加界限",
    removeBand: (above: string) => `删除界限 ${above}`,
    modes: "服务模式",
    priority: "优先",
    fast: "快速",
    ultrafast: "极速",
    flex: "弹性",
    batch: "批处理",
    addMode: (mode: string) => `添加${mode}`,
    removeMode: (mode: string) => `删除${mode}`,
  },
);

interface BandsProps {
  readonly value: readonly Band[];
  readonly onChange: (value: readonly Band[]) => void;
}

export function Bands({ value, onChange }: BandsProps) {
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
            <RemoveRow label={t.removeBand(band.above)} onClick={() => onChange(value.filter((_, at) => at !== i))} />
          </Group>
          <RateFields keys={rateKeys} value={band.rates} onChange={(rates) => set(i, { ...band, rates })} />
        </Stack>
      ))}
      <AddRow onClick={() => onChange([...value, { above: "", rates: noRates }])}>{t.addBand}</AddRow>
    </Stack>
  );
}

interface ModesProps {
  readonly value: PriceValues["modes"];
  readonly onChange: (value: PriceValues["modes"]) => void;
}

export function Modes({ value, onChange }: ModesProps) {
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
              <RemoveRow label={t.removeMode(t[mode])} onClick={() => set(mode, undefined)} />
            </Group>
            <RateFields keys={rateKeys} value={card.rates} onChange={(rates) => set(mode, { ...card, rates })} />
            <Bands value={card.long} onChange={(long) => set(mode, { ...card, long })} />
          </Stack>
        );
      })}
      <Group gap="xs">
        {rest.map((mode) => (
          <AddRow key={mode} onClick={() => set(mode, { rates: noRates, long: [] })}>
            {t.addMode(t[mode])}
          </AddRow>
        ))}
      </Group>
    </Stack>
  );
}
