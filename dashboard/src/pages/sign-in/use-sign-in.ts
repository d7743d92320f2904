/** Signs in, in one step or two: with the password, and a code if the user has a second factor. */
import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { SessionService } from "../../../../gen/modelgateway/v1/sessions_pb.ts";
import { Reason, refusalOf } from "../../refusal.ts";
import type { Credentials } from "./password-form.tsx";

export function useSignIn(onSuccess: () => Promise<void>) {
  const [known, setKnown] = useState<Credentials>();
  const signIn = useMutation(SessionService.method.signIn, {
    onSuccess,
    onError: (error, { email = "", password = "" }) => {
      if (refusalOf(error).reason === Reason.SECOND_FACTOR_NEEDED) setKnown({ email, password });
    },
  });
  const error = known && !signIn.variables?.code ? null : signIn.error;
  const shown = { busy: signIn.isPending, error };
  return {
    /** known are the right credentials of a user who has a second factor; undefined before. */
    known,
    passwordForm: { ...shown, onSubmit: (credentials: Credentials) => signIn.mutate(credentials) },
    codeForm: {
      ...shown,
      onSubmit: (code: string) => signIn.mutate({ ...known, code }),
      onBack: () => {
        setKnown(undefined);
        signIn.reset();
      },
    },
  };
}
