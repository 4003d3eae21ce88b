import { Button, Group, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { Trouble } from '../../parts/page.tsx';

interface Given {
  readonly code: string;
  /** Empty where none is asked for. */
  readonly password: string;
}

interface CodeFormProps<T> {
  readonly action: string;
  readonly about: string;
  /** Asks for the password as well. */
  readonly withPassword?: boolean;
  readonly send: (given: Given) => Promise<T>;
  readonly onDone: (answer: T) => Promise<void>;
  readonly onCancel: () => void;
}

/** Asks for a code of the authenticator app before something is changed. */
export function CodeForm<T>(props: CodeFormProps<T>) {
  const { action, about, withPassword = false, send: give, onDone, onCancel } = props;
  const form = useForm({ initialValues: { code: '', password: '' } });
  const apply = useMutation({
    mutationFn: ({ code, password }: Given) => give({ code: code.trim(), password }),
    onSuccess: onDone,
  });
  return (
    <form onSubmit={form.onSubmit((values) => apply.mutate(values))}>
      <Stack maw={360}>
        {apply.error !== null && <Trouble error={apply.error} doing="Could not continue" />}
        {withPassword && (
          <PasswordInput
            label="Current password"
            autoComplete="current-password"
            required
            autoFocus
            {...form.getInputProps('password')}
          />
        )}
        <TextInput
          label="Code"
          description={about}
          autoComplete="one-time-code"
          required
          maxLength={40}
          autoFocus={!withPassword}
          {...form.getInputProps('code')}
        />
        <Group>
          <Button type="submit" loading={apply.isPending}>
            {action}
          </Button>
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
