import { Anchor, Code, Divider, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { BusyButton } from '../../parts/busy.tsx';
import { sessionQuery, signInQuery } from '../../api/queries.ts';
import { RequestError, send } from '../../api/request.ts';
import type { Schema } from '../../api/generated/schema.ts';
import { isHalfway, type Session } from '../../api/types.ts';
import { accountLabel } from '../../parts/account-label.ts';
import { NewPassword, newPasswordProblem, refusedPassword } from '../../parts/new-password.tsx';
import { Rows, Trouble } from '../../parts/page.tsx';
import { ProviderButton } from '../../parts/provider-button.tsx';
import { forgetInvitation, keptInvitation } from '../../app/return-address.ts';
import { JoinSignedIn } from './join-signed-in.tsx';
import { Outside, useEnter } from './outside.tsx';
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

interface ByLinkProps {
  readonly title: string;
  /** Below the title; may depend on the name of the account, once it is known. */
  readonly about: string | ((account: string | undefined) => string);
  /** API path that redeems the link. */
  readonly path: string;
  readonly purpose: Schema['CheckLinkBody']['purpose'];
  readonly fields: readonly ('name' | 'email')[];
  readonly action: string;
  /** How to get a new link. */
  readonly renew: ReactNode;
}

/** The token of an invitation that waited for a sign-in. */
function keptToken(purpose: ByLinkProps['purpose']): string {
  return purpose === 'invite' ? keptInvitation() : '';
}

/** The page of a one-time link: its token is in the fragment, which servers and logs never see. */
function ByLink({ title, about, path, purpose, fields, action, renew }: ByLinkProps) {
  const [token] = useState(() => new URLSearchParams(location.hash.slice(1)).get('token') ?? keptToken(purpose));
  const enter = useEnter();
  const navigate = useNavigate();
  const form = useForm({
    initialValues: { name: '', email: '', password: '' },
    validate: {
      password: newPasswordProblem,
    },
  });
  const { data, error, refetch } = useQuery(signInQuery);
  const isInvitation = purpose === 'invite';
  const { data: session } = useQuery({ ...sessionQuery, retry: false, enabled: isInvitation });
  const check = useQuery({
    queryKey: ['link', purpose, token],
    queryFn: async () => await send<Schema['OpenLinkView']>('POST', '/sign-in/link', { token, purpose }),
    enabled: token !== '',
    gcTime: 0,
    staleTime: Infinity,
  });
  const ways = check.isPending ? undefined : data;
  const email = check.data?.email ?? null;
  // The link is a secret, so it must not stay in the address bar or in the history.
  useEffect(() => {
    history.replaceState(history.state, '', location.pathname);
    forgetInvitation();
  }, []);
  const redeem = useMutation({
    mutationFn: ({ password, ...values }: typeof form.values) =>
      send<Session | Schema['SecondStepView']>('POST', path, {
        token,
        password,
        ...Object.fromEntries(fields.map((field) => [field, values[field]])),
      }),
    onSuccess: async (answer) => {
      if (!isHalfway(answer)) await enter(answer);
    },
    onError: (failure) => form.setFieldError('password', refusedPassword(failure)),
  });
  const provider = useMutation({
    mutationFn: () => send<{ readonly url: string }>('POST', '/oidc', { token }),
    onSuccess: ({ url }) => location.assign(url),
  });
  // The new password is already saved.
  if (redeem.data !== undefined && isHalfway(redeem.data))
    return <SecondStep onBack={() => void navigate({ to: '/sign-in' })} />;
  const refusal = [check.error, redeem.error].find((one) => one instanceof RequestError && one.status === 410);
  if (token === '' || refusal !== undefined)
    return (
      <Outside
        title={refusal === undefined ? 'Open the link again' : 'Link no longer works'}
        about={refusal?.message ?? 'Its secret part is missing. Reloading this page removes it.'}
      >
        <Stack gap="sm">
          <Text size="sm">
            {refusal === undefined && 'Don’t have the link anymore? '}
            {renew}
          </Text>
          <Anchor component={Link} to="/sign-in" size="sm" underline="always">
            Sign in instead
          </Anchor>
        </Stack>
      </Outside>
    );
  return (
    <Outside title={title} about={typeof about === 'string' ? about : about(check.data?.account)}>
      <Stack>
        {ways === undefined && error === null && <Rows count={2} />}
        {ways !== undefined && isInvitation && <JoinSignedIn token={token} />}
        {error !== null && (
          <Trouble error={error} doing="Could not load sign-in options" onRetry={() => void refetch()} />
        )}
        {provider.error !== null && <Trouble error={provider.error} doing="Could not continue" />}
        {ways?.oidc && (
          <ProviderButton
            provider={ways.oidc}
            main={!ways.password}
            loading={provider.isPending || provider.isSuccess}
            onClick={() => provider.mutate()}
          />
        )}
        {ways?.oidc && ways.password && <Divider label="or with a password" />}
        {ways?.password === true && (
          <form onSubmit={form.onSubmit((values) => redeem.mutate(values))}>
            <Stack>
              {redeem.error !== null && refusedPassword(redeem.error) === null && (
                <Trouble error={redeem.error} doing="Could not continue" />
              )}
              {fields.includes('name') && (
                <TextInput
                  label="Your name"
                  autoComplete="name"
                  required
                  // The only thing to do on this page.
                  autoFocus={purpose === 'first_admin'}
                  {...form.getInputProps('name')}
                />
              )}
              {fields.includes('email') && (
                <TextInput
                  label="Email"
                  type="email"
                  autoComplete="username"
                  required
                  {...form.getInputProps('email')}
                />
              )}
              {email !== null && (
                <TextInput
                  label="Email"
                  description="You sign in with this address"
                  variant="filled"
                  autoComplete="username"
                  readOnly
                  value={email}
                />
              )}
              <NewPassword
                label={purpose === 'password' ? 'New password' : 'Password'}
                personal={[form.values.name, email ?? form.values.email]}
                {...form.getInputProps('password')}
              />
              <BusyButton
                type="submit"
                // Joining with the current sign-in is the primary action.
                variant={isInvitation && session !== undefined ? 'default' : 'filled'}
                busy={redeem.isPending}
                fullWidth
                mt="xs"
              >
                {action}
              </BusyButton>
            </Stack>
          </form>
        )}
      </Stack>
    </Outside>
  );
}
