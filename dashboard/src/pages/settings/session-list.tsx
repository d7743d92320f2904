/** Sessions with their browser, address and time. */
import { Badge, Button, Group, Text } from "@mantine/core";
import type { Session } from "../../../../gen/modelgateway/v1/sessions_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Moment } from "../../parts/moment.tsx";
import text from "../../parts/text.module.css";
import { nameBrowser } from "./browser.ts";
import classes from "./session-list.module.css";

const said = texts(
  {
    sessions: "Your sessions",
    began: "Began",
    used: "Last used",
    unknown: "Unknown browser",
    current: "This session",
    end: "End",
    endThat: (browser: string, address: string) => `End the session of ${browser} at ${address}`,
  },
  {
    sessions: "您的会话",
    began: "开始于",
    used: "最近使用",
    unknown: "未知浏览器",
    current: "当前会话",
    end: "结束",
    endThat: (browser: string, address: string) => `结束 ${browser} 在 ${address} 的会话`,
  },
);

interface Props {
  readonly sessions: readonly Session[];
  /** ending is the session that is being ended. */
  readonly ending: string | undefined;
  readonly onEnd: (id: string) => void;
}

export function SessionList({ sessions, ending, onEnd }: Props) {
  const t = useTexts(said);
  const row = ({ id, userAgent, address, createdAt, lastSeenAt, current }: Session) => {
    const browser = nameBrowser(userAgent) || t.unknown;
    return (
      <li key={id} className={classes.session}>
        <div>
          <Group gap="xs">
            <Text size="sm" fw={500} title={userAgent}>
              {browser}
            </Text>
            {current && (
              <Badge variant="default" tt="none">
                {t.current}
              </Badge>
            )}
          </Group>
          <Text size="sm" c="dimmed">
            {address} · {t.began} <Moment at={createdAt} /> · {t.used} <Moment at={lastSeenAt} as="ago" />
          </Text>
        </div>
        {!current && (
          <Button
            size="xs"
            variant="default"
            loading={ending === id}
            onClick={() => onEnd(id)}
            aria-label={t.endThat(browser, address)}
          >
            {t.end}
          </Button>
        )}
      </li>
    );
  };
  return (
    <ul className={text.list} aria-label={t.sessions}>
      {sessions.map(row)}
    </ul>
  );
}
