/** Rates of a million tokens, each with the vendor's below it. */
import { TextInput } from "@mantine/core";
import type { ModelPrice } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { useDollars } from "../../parts/dollars.ts";
import { Fields } from "../../parts/fields.tsx";
import { useSession } from "../../session.tsx";
import type { RateKey, Rates } from "./price-values.ts";

const said = texts(
  {
    input: "Input",
    output: "Output",
    cache_read: "Cache read",
    cache_write: "Cache write",
    cache_write_hour: "Cache write, longer",
    input_audio: "Audio input",
    input_image: "Image input",
    output_audio: "Audio output",
    vendor: (price: string) => `Vendor: ${price}`,
  },
  {
    input: "输入",
    output: "输出",
    cache_read: "缓存读取",
    cache_write: "缓存写入",
    cache_write_hour: "缓存写入（长时）",
    input_audio: "音频输入",
    input_image: "图像输入",
    output_audio: "音频输出",
    vendor: (price: string) => `厂商价：${price}`,
  },
);

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

export function RateFields({ keys, value, onChange, vendor, errorAt }: RatesProps) {
  const t = useTexts(said);
  return (
    <Fields cols={{ base: 1, xs: 3 }}>
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
    </Fields>
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

export function Amount({ label, value, vendor, onChange, error }: AmountProps) {
  const t = useTexts(said);
  const { unit } = useSession();
  const dollars = useDollars();
  return (
    <TextInput
      label={label}
      inputMode="decimal"
      autoComplete="off"
      leftSection={<span aria-hidden>{unit.symbol}</span>}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      description={vendor === undefined ? undefined : t.vendor(dollars(vendor))}
      error={error}
    />
  );
}
