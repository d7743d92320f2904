/** Shows what bounds a key besides its models and money, in one line; and its tags. */
import { Badge, Group, Text, Tooltip } from "@mantine/core";
import type { ApiKey } from "../../../../../gen/modelgateway/v1/keys_pb.ts";
import { counted } from "../../../language/counted.ts";
import { useFormat } from "../../../language/format.ts";
import { useJoin } from "../../../language/join.ts";
import { texts, useTexts } from "../../../language/language.tsx";

const said = texts(
  {
    requests: (count: string) => `${counted(count, "request")}/min`,
    tokens: (count: string) => `${counted(count, "token")}/min`,
    concurrent: (count: string) => `${count} at a time`,
    rates: (count: number) => counted(count, "model rate"),
    addresses: (count: number) => counted(count, "address", "addresses"),
    more: (count: number) => `+${count}`,
  },
  {
    requests: (count: string) => `${count} 请求/分钟`,
    tokens: (count: string) => `${count} Token/分钟`,
    concurrent: (count: string) => `同时 ${count} 个调用`,
    rates: (count: number) => `${count} 个模型速率`,
    addresses: (count: number) => `${count} 个地址`,
    more: (count: number) => `+${count}`,
  },
);

/** KeyBounds shows nothing for a key without such bounds. */
export function KeyBounds({ of }: { readonly of: ApiKey }) {
  const t = useTexts(said);
  const format = useFormat();
  const join = useJoin();
  const { requestsPerMinute, tokensPerMinute, maxConcurrent, modelRates, allowedIps } = of;
  const bounds = [
    ...(requestsPerMinute === undefined ? [] : [t.requests(format.count(requestsPerMinute))]),
    ...(tokensPerMinute === undefined ? [] : [t.tokens(format.compact(tokensPerMinute))]),
    ...(maxConcurrent === undefined ? [] : [t.concurrent(format.count(maxConcurrent))]),
    ...(modelRates.length === 0 ? [] : [t.rates(modelRates.length)]),
    ...(allowedIps.length === 0 ? [] : [t.addresses(allowedIps.length)]),
  ];
  if (bounds.length === 0) return null;
  const line = bounds.join(" · ");
  return (
    <Text size="xs" c="dimmed" maw={220} style={{ whiteSpace: "normal" }} title={join.list(allowedIps)}>
      {line}
    </Text>
  );
}

const shownTags = 3;

export function KeyTags({ of: { tags } }: { readonly of: Pick<ApiKey, "tags"> }) {
  const t = useTexts(said);
  const join = useJoin();
  if (tags.length === 0) return null;
  const rest = tags.length - shownTags;
  const badges = (
    <Group gap={4} maw={260}>
      {tags.slice(0, shownTags).map((tag) => (
        <Badge key={tag} variant="light" color="gray" size="sm" radius="sm" tt="none" maw={160} title={tag}>
          {tag}
        </Badge>
      ))}
      {rest > 0 && (
        <Text size="xs" c="dimmed">
          {t.more(rest)}
        </Text>
      )}
    </Group>
  );
  return rest > 0 ? (
    <Tooltip label={join.list(tags)} multiline maw={320}>
      {badges}
    </Tooltip>
  ) : (
    badges
  );
}
