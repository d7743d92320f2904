/** Lists the user's sessions and ends them. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { SessionService } from "../../../../gen/modelgateway/v1/sessions_pb.ts";
import { counted } from "../../language/counted.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Failure } from "../../parts/failure.tsx";
import { notify } from "../../parts/notify.ts";
import { Section } from "../../parts/section.tsx";
import { useForgetSessions } from "./forget.ts";
import { ownSections } from "./own-sections.ts";
import { SessionList } from "./session-list.tsx";

const said = texts(
  {
    title: ownSections.en.sessions,
    about: "Where you are signed in. A session ends after 7 days without use, and after 30 days at the latest.",
    endOthers: "End all others",
    endOthersWhat: "You are signed out everywhere but here, at once.",
    ended: (count: number) => `${counted(count, "session")} ended`,
  },
  {
    title: ownSections["zh-CN"].sessions,
    about: "您已登录的位置。会话在 7 天未使用后结束，最长保留 30 天。",
    endOthers: "结束其他所有会话",
    endOthersWhat: "除当前会话外，您在其他位置的登录将立即失效。",
    ended: (count: number) => `已结束 ${count} 个会话`,
  },
);

export function SessionsSection() {
  const t = useTexts(said);
  const forget = useForgetSessions();
  const [asking, ask] = useDisclosure();
  const sessions = useQuery(SessionService.method.listSessions, {});
  const revoke = useMutation(SessionService.method.revokeSession, {
    onSuccess: () => {
      notify(t.ended(1));
      return forget();
    },
  });
  const revokeOthers = useMutation(SessionService.method.revokeOtherSessions, {
    onSuccess: ({ revoked }) => {
      ask.close();
      notify(t.ended(revoked));
      return forget();
    },
  });
  const others = sessions.data?.sessions.some(({ current }) => !current) ?? false;
  return (
    <Section
      id="sessions"
      title={t.title}
      about={t.about}
      actions={
        others && (
          <Button variant="default" onClick={ask.open}>
            {t.endOthers}
          </Button>
        )
      }
    >
      {revoke.error && <Failure error={revoke.error} />}
      <Answer of={sessions}>
        {({ sessions }) => (
          <SessionList
            sessions={sessions}
            ending={revoke.isPending ? revoke.variables.id : undefined}
            onEnd={(id) => revoke.mutate({ id })}
          />
        )}
      </Answer>
      <Confirm
        opened={asking}
        onClose={ask.close}
        title={t.endOthers}
        action={t.endOthers}
        onConfirm={() => revokeOthers.mutate({})}
        busy={revokeOthers.isPending}
        error={revokeOthers.error}
      >
        {t.endOthersWhat}
      </Confirm>
    </Section>
  );
}
