import { Anchor, Divider, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { sessionQuery, signInQuery } from '../../api/queries.ts';
import { send, type RequestError } from '../../api/request.ts';
import type { Schema } from '../../api/generated/schema.ts';
import { Rows, Trouble } from '../../parts/page.tsx';
import { forgetInvitation, keptInvitation } from '../../app/return-address.ts';
import { JoinSignedIn } from './join-signed-in.tsx';
import { isGone, LinkPassword, type LinkUse } from './link-password.tsx';
import { LinkProvider } from './link-provider.tsx';
import { Outside } from './outside.tsx';
import { SecondStep } from './second-step.tsx';

interface ByLinkProps extends LinkUse {
  readonly title: string;
  /** Below the title; may depend on the name of the account, once it is known. */
  readonly about: string | ((account: string | undefined) => string);
  /** How to get a new link. */
  readonly renew: ReactNode;
}

/** What the pages of one-time links (link-pages.tsx) have in common. It offers every sign-in method of the installation. */
export function ByLink({ title, about, renew, ...use }: ByLinkProps) {
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
