import { Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { browserOf } from '../../parts/browser-of.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { PasswordField } from '../../parts/password-field.tsx';
import { addPasskey } from './ceremony.ts';
import { useSave } from '../../parts/use-save.ts';

interface AddPasskeyProps {
  readonly onAdded: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks for the password, then lets the browser create a passkey. */
export function AddPasskey({ onAdded, onClose }: AddPasskeyProps) {
  const form = useForm({ initialValues: { name: browserOf(navigator.userAgent), password: '' } });
  const add = useSave({
    send: async ({ name, password }: typeof form.values) => {
      await addPasskey(name.trim(), password);
      await onAdded();
    },
    done: 'Passkey added.',
    after: onClose,
  });
  return (
    <FormDialog
      title="Add passkey"
      action="Continue"
      save={add}
      doing="Could not add a passkey"
      onSubmit={form.onSubmit((values) => add.mutate(values))}
      onClose={onClose}
    >
      <Text size="sm">Your browser then asks where to save the passkey.</Text>
      <TextInput
        label="Name"
        description="To tell your passkeys apart"
        required
        maxLength={100}
        {...form.getInputProps('name')}
      />
      <PasswordField
        label="Current password"
        autoComplete="current-password"
        required
        data-autofocus
        {...form.getInputProps('password')}
      />
    </FormDialog>
  );
}
