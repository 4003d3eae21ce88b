import { Box, Button, Group, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { queryClient } from '../../api/queries.ts';
import { get, send } from '../../api/request.ts';
import type { Schema } from '../../api/generated/schema.ts';
import { dayOf } from '../../parts/format.ts';
import { Rows, Trouble } from '../../parts/page.tsx';
import { CodeForm } from './code-form.tsx';
import { RecoveryCodes } from './recovery-codes.tsx';
import { SetUp } from './set-up.tsx';

const twoFactorQuery = queryOptions({
  queryKey: ['two-factor'],
  queryFn: ({ signal }) => get<Schema['TwoFactorView']>('/two-factor', {}, signal),
});
type Codes = Schema['RecoveryCodesView'];
const CODES = 'Six digits from your authenticator app, or a recovery code';
type Step = 'set-up' | 'renew' | 'turn-off';

/** Two-factor authentication with an authenticator app, on the profile page. */
export function TwoFactor() {
  const { data, error, refetch } = useQuery(twoFactorQuery);
  const [step, setStep] = useState<Step | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const cancel = () => setStep(null);
  const done = async (newCodes: readonly string[] | null) => {
    setStep(null);
    setCodes(newCodes);
    await queryClient.invalidateQueries(twoFactorQuery);
  };
  return (
    <Box className="surface" p="lg" component="section">
      <Title order={2} fz="md" mb="xs">
        Two-factor authentication
      </Title>
      {error !== null && (
        <Trouble error={error} doing="Could not load two-factor authentication" onRetry={() => void refetch()} />
      )}
      {data === undefined && error === null && <Rows count={1} />}
      {data !== undefined && (
        <Stack maw={480}>
          {codes !== null && <RecoveryCodes codes={codes} onClose={() => setCodes(null)} />}
          {codes === null && step === null && <State state={data} onStep={setStep} />}
          {step === 'set-up' && <SetUp onDone={done} onCancel={cancel} />}
          {step === 'renew' && (
            <CodeForm
              action="Create new codes"
              about="You get ten new recovery codes. The current ones stop working."
              codes={CODES}
              send={({ code }) => send<Codes>('POST', '/two-factor/recovery-codes', { code })}
              onDone={({ recovery_codes: newCodes }) => done(newCodes)}
              onCancel={cancel}
            />
          )}
          {step === 'turn-off' && (
            <CodeForm
              withPassword
              danger
              action="Turn off"
              about="You will need only your password to sign in. Your recovery codes stop working; your passkeys keep working."
              codes={CODES}
              send={(given) => send('POST', '/two-factor/remove', given)}
              onDone={() => {
                notifications.show({ color: 'green', message: 'Two-factor authentication is off.' });
                return done(null);
              }}
              onCancel={cancel}
            />
          )}
        </Stack>
      )}
    </Box>
  );
}

interface StateProps {
  readonly state: Schema['TwoFactorView'];
  readonly onStep: (step: Step) => void;
}

function State({ state: { enabled_at: since, recovery_codes: left }, onStep }: StateProps) {
  if (since === null) {
    return (
      <>
        <Text size="sm">
          When you sign in with your password, you also enter a code from an authenticator app, such as 1Password,
          Aegis, or Google Authenticator.
        </Text>
        <Group>
          <Button onClick={() => onStep('set-up')}>Set up</Button>
        </Group>
      </>
    );
  }
  return (
    <>
      <Text size="sm">
        On since {dayOf(since)}. {left === 1 ? '1 recovery code' : `${left} recovery codes`} left.
      </Text>
      <Group>
        <Button variant="default" onClick={() => onStep('renew')}>
          New recovery codes
        </Button>
        <Button variant="default" onClick={() => onStep('turn-off')}>
          Turn off
        </Button>
      </Group>
    </>
  );
}
