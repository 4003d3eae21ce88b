import { Anchor, Code, Divider, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { BusyButton } from '../../parts/busy.tsx';
import { signInQuery } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import type { Schema } from '../../api/generated/schema.ts';
import { isHalfway, type Session } from '../../api/types.ts';
import { Rows, Trouble } from '../../parts/page.tsx';
import { ProviderButton } from '../../parts/provider-button.tsx';
import { PasswordField } from '../../parts/password-field.tsx';
import { Outside, useEnter, useEnterFromOtherTab } from './outside.tsx';
import { SecondStep } from './second-step.tsx';
import { NotSignedIn, SignInTrouble } from '../../parts/sign-in-trouble.tsx';
import { PasskeyButton } from '../passkeys/passkey-button.tsx';
import { passkeyAddress, whyNoPasskeys } from '../passkeys/why-no-passkeys.tsx';
import { refusalText } from './sign-in-refusals.ts';

export function SignInPage() {
  const { data, error, refetch } = useQuery(signInQuery);
  const [refused] = useState(() => new URLSearchParams(location.search).get('refused'));
  const enter = useEnter();
  useEnterFromOtherTab();
  const [isHalf, setHalf] = useState(false);
  const refusal = refused !== null && (
    <NotSignedIn>{refusalText(refused, data?.oidc?.name ?? 'the provider')}</NotSignedIn>
  );
  if (data?.first_run === true) return <WaitingForFirstRun refusal={refusal} />;
  if (isHalf) return <SecondStep onBack={() => setHalf(false)} />;
  return (
    <Outside title="Sign in" about="Welcome back to Darkroom.">
      <Stack>
        {refusal}
        {data === undefined && error === null && <Rows count={2} />}
        {error !== null && (
          <Trouble error={error} doing="Could not load sign-in options" onRetry={() => void refetch()} />
        )}
        {data?.oidc && <ProviderButton provider={data.oidc} main={!data.password} />}
        {data?.oidc && data.password && <Divider label="or with your password" />}
        {data?.password === true && <PasswordForm main={data.oidc === null} onHalf={() => setHalf(true)} />}
        {data?.password === true && whyNoPasskeys(data) === null && (
          <>
            <Divider label="or" />
            <PasskeyButton onEnter={enter} />
          </>
        )}
        {data?.password === true && passkeyAddress(data) !== null && (
          <Text size="sm" c="dimmed">
            {whyNoPasskeys(data)}
          </Text>
        )}
      </Stack>
    </Outside>
  );
}

interface PasswordFormProps {
  readonly main: boolean;
  /** Called when the password was right and a code is required. */
  readonly onHalf: () => void;
}

function PasswordForm({ main, onHalf }: PasswordFormProps) {
  const enter = useEnter();
  const form = useForm({ initialValues: { email: '', password: '' } });
  const signIn = useMutation({
    mutationFn: (values: { email: string; password: string }) =>
      send<Session | Schema['SecondStepView']>('POST', '/sign-in', values),
    onSuccess: async (answer) => {
      if (isHalfway(answer)) onHalf();
      else await enter(answer);
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => signIn.mutate(values))}>
      <Stack>
        {signIn.error !== null && <SignInTrouble error={signIn.error} />}
        <TextInput
          label="Email"
          type="email"
          autoComplete="username"
          required
          autoFocus={main}
          {...form.getInputProps('email')}
        />
        <PasswordField label="Password" autoComplete="current-password" required {...form.getInputProps('password')} />
        <BusyButton type="submit" busy={signIn.isPending} fullWidth mt="xs">
          Sign in
        </BusyButton>
        <Anchor component={Link} to="/forgot-password" size="sm" underline="always">
          Forgot password?
        </Anchor>
      </Stack>
    </form>
  );
}

/** Before the first user exists, the link printed by the service is the only way in. */
function WaitingForFirstRun({ refusal }: { readonly refusal: ReactNode }) {
  return (
    <Outside title="Almost there" about="This installation has no owner yet.">
      <Stack gap="sm">
        {refusal}
        <Text size="sm">
          Open the one-time link that the service printed at startup. If you no longer have it, print a new one on the
          machine that runs Darkroom:
        </Text>
        <Code block>npm run admin -- link</Code>
        <Text size="sm">With Docker Compose:</Text>
        <Code block style={{ whiteSpace: 'pre-wrap' }}>
          docker compose run --rm migrate admin link
        </Code>
      </Stack>
    </Outside>
  );
}
