import { useMutation } from '@tanstack/react-query';
import { send } from '../../api/request.ts';
import type { SignInState } from '../../api/types.ts';
import { Trouble } from '../../parts/page.tsx';
import { ProviderButton } from '../../parts/provider-button.tsx';

interface LinkProviderProps {
  readonly token: string;
  readonly provider: NonNullable<SignInState['oidc']>;
  /** The primary action of its page. */
  readonly main: boolean;
}

/** Redeems a link by signing in with the single sign-on provider. */
export function LinkProvider({ token, provider, main }: LinkProviderProps) {
  const open = useMutation({
    mutationFn: () => send<{ readonly url: string }>('POST', '/oidc', { token }),
    onSuccess: ({ url }) => location.assign(url),
  });
  return (
    <>
      {open.error !== null && <Trouble error={open.error} doing="Could not continue" />}
      <ProviderButton
        provider={provider}
        main={main}
        loading={open.isPending || open.isSuccess}
        onClick={() => open.mutate()}
      />
    </>
  );
}
