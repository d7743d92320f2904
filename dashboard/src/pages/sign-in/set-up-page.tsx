/** Creates the first user, with the link that the gateway's first start prints. */
import { useMutation } from "@connectrpc/connect-query";
import { useNavigate } from "@tanstack/react-router";
import { LinkKind, SessionService } from "../../../../gen/modelgateway/v1/sessions_pb.ts";
import { BareFrame } from "../../frame/bare-frame.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { Waiting } from "../../parts/answer.tsx";
import { useSession } from "../../session.tsx";
import { useLink } from "./link.ts";
import { NewUserForm } from "./new-user-form.tsx";
import { OpenLink } from "./open-link.tsx";

const said = texts(
  {
    title: "Set up the gateway",
    about: "Create the first user, who operates the gateway and gets an account of their own.",
    action: "Create the first user",
  },
  { title: "初始化网关", about: "创建首个用户。该用户将负责运营网关，并拥有自己的账户。", action: "创建首个用户" },
);

export function SetUpPage() {
  const t = useTexts(said);
  const link = useLink();
  const { refresh } = useSession();
  const navigate = useNavigate();
  const setUp = useMutation(SessionService.method.setUp, {
    onSuccess: async () => {
      link.setUsed(true);
      await refresh();
      await navigate({ to: "/", replace: true });
    },
  });
  return (
    <BareFrame title={t.title} about={t.about}>
      {link.used ? (
        <Waiting lines={3} />
      ) : (
        <OpenLink link={link} kind={LinkKind.SET_UP}>
          {(of) => (
            <NewUserForm
              email={of.email}
              accountName={of.accountName}
              action={t.action}
              busy={setUp.isPending}
              error={setUp.error}
              onSubmit={(user) => setUp.mutate({ ...user, link: link.secret })}
            />
          )}
        </OpenLink>
      )}
    </BareFrame>
  );
}
