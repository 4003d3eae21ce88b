import { Anchor, Code, Divider, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { sessionQuery, signInQuery } from '../../api/queries.ts';
import { send, type RequestError } from '../../api/request.ts';
import type { Schema } from '../../api/generated/schema.ts';
import type { SignInState } from '../../api/types.ts';
import { accountLabel } from '../../parts/account-label.ts';
import { Rows, Trouble } from '../../parts/page.tsx';
import { ProviderButton } from '../../parts/provider-button.tsx';
import { forgetInvitation, keptInvitation } from '../../app/return-address.ts';
import { JoinSignedIn } from './join-signed-in.tsx';
import { isGone, LinkPassword, type LinkUse } from './link-password.tsx';
import { Outside } from './outside.tsx';
import { SecondStep } from './second-step.tsx';

export function FirstRunPage() {
  return (
    <ByLink
      title="Welcome to Darkroom"
      about="Create your account. You will be its owner and the operator of this installation."
      path="/first-admin"
      purpose="first_admin"
      fields={['name', 'email']}
      action="Create account"
      renew={
        <>
          Print a new one with <Code>npm run admin -- link</Code>.
        </>
      }
    />
  );
}

export function InvitePage() {
  return (
    <ByLink
      title="Welcome to Darkroom"
      about={(account) => `You’re invited to join${account === undefined ? '' : ` ${accountLabel(account)}`}.`}
      path="/join"
      purpose="invite"
      fields={['name']}
      action="Join"
      renew="Ask an owner or admin for a new one."
    />
  );
}

export function ResetPasswordPage() {
  const { data } = useQuery(signInQuery);
  return (
    <ByLink
      title={data?.oidc ? 'Set up sign-in' : 'New password'}
      about={data?.oidc ? 'Choose how you sign in from now on.' : 'Choose a new password.'}
      path="/reset-password"
      purpose="password"
      fields={[]}
      action="Save and sign in"
      renew={
        data?.email === true && data.password ? (
          <Anchor component={Link} to="/forgot-password" size="sm" underline="always">
            Email me a new link
          </Anchor>
        ) : (
          'Ask an owner or admin for a new one.'
        )
      }
    />
  );
}

interface ByLinkProps extends LinkUse {
  readonly title: string;
  /** Below the title; may depend on the name of the account, once it is known. */
  readonly about: string | ((account: string | undefined) => string);
  /** How to get a new link. */
  readonly renew: ReactNode;
}

/** The page of a one-time link. It offers every sign-in method of the installation. */
function ByLink({ title, about, renew, ...use }: ByLinkProps) {
  const token = useToken(use.purpose);
  const navigate = useNavigate();
  const [isHalf, setHalf] = useState(false);
  const [gone, setGone] = useState<RequestError | null>(null);
  const isInvitation = use.purpose === 'invite';
  const { data, error, refetch } = useQuery(signInQuery);
  const { data: session } = useQuery({ ...sessionQuery, retry: false, enabled: isInvitation });
  const check = useQuery({
    queryKey: ['link', use.purpose, token],
    queryFn: async () => await send<Schema['OpenLinkView']>('POST', '/sign-in/link', { token, purpose: use.purpose }),
    enabled: token !== '',
    gcTime: 0,
    staleTime: Infinity,
  });
  const methods = check.isPending ? undefined : data;
  if (isHalf) return <SecondStep onBack={() => void navigate({ to: '/sign-in' })} />;
  const refusal = isGone(check.error) ? check.error : gone;
  if (token === '' || refusal !== null) return <NoLink refusal={refusal} renew={renew} />;
  return (
    <Outside title={title} about={typeof about === 'string' ? about : about(check.data?.account)}>
      <Stack>
        {methods === undefined && error === null && <Rows count={2} />}
        {methods !== undefined && isInvitation && <JoinSignedIn token={token} />}
        {error !== null && (
          <Trouble error={error} doing="Could not load sign-in options" onRetry={() => void refetch()} />
        )}
        {methods?.oidc && <LinkProvider token={token} provider={methods.oidc} main={!methods.password} />}
        {methods?.oidc && methods.password && <Divider label="or with a password" />}
        {methods?.password === true && (
          <LinkPassword
            {...use}
            token={token}
            email={check.data?.email ?? null}
            // Joining with the current sign-in is the primary action.
            main={!isInvitation || session === undefined}
            onHalfway={() => setHalf(true)}
            onGone={setGone}
          />
        )}
      </Stack>
    </Outside>
  );
}

/** The link's token; empty if there is none. It is in the fragment, which servers and logs never see. */
function useToken(purpose: LinkUse['purpose']): string {
  const [token] = useState(() => {
    const sent = new URLSearchParams(location.hash.slice(1)).get('token');
    // An invitation may have waited for a sign-in.
    return sent ?? (purpose === 'invite' ? keptInvitation() : '');
  });
  // The link is a secret, so it must not stay in the address bar or in the history.
  useEffect(() => {
    history.replaceState(history.state, '', location.pathname);
    forgetInvitation();
  }, []);
  return token;
}

interface NoLinkProps extends Pick<ByLinkProps, 'renew'> {
  /** The API's error if the link no longer works; null if the page has no link. */
  readonly refusal: RequestError | null;
}

function NoLink({ refusal, renew }: NoLinkProps) {
  return (
    <Outside
      title={refusal === null ? 'Open the link again' : 'Link no longer works'}
      about={refusal?.message ?? 'Its secret part is missing. Reloading this page removes it.'}
    >
      <Stack gap="sm">
        <Text size="sm">
          {refusal === null && 'Don’t have the link anymore? '}
          {renew}
        </Text>
        <Anchor component={Link} to="/sign-in" size="sm" underline="always">
          Sign in instead
        </Anchor>
      </Stack>
    </Outside>
  );
}

interface LinkProviderProps {
  readonly token: string;
  readonly provider: NonNullable<SignInState['oidc']>;
  /** The primary action of its page. */
  readonly main: boolean;
}

/** Redeems a link by signing in with the single sign-on provider. */
function LinkProvider({ token, provider, main }: LinkProviderProps) {
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
