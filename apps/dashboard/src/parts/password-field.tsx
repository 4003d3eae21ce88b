import { PasswordInput } from '@mantine/core';
import { useState, type ComponentProps } from 'react';

interface PasswordFieldProps extends ComponentProps<typeof PasswordInput> {
  /** The hidden value; absent: a password. */
  readonly of?: string;
}

/** A field for a secret; its button is labeled with what it does next. */
export function PasswordField({ of = 'password', ...props }: PasswordFieldProps) {
  const [visible, setVisible] = useState(false);
  return (
    <PasswordInput
      visible={visible}
      onVisibilityChange={setVisible}
      visibilityToggleButtonProps={{
        'aria-label': `${visible ? 'Hide' : 'Show'} ${of}`,
        'aria-pressed': undefined,
      }}
      {...props}
    />
  );
}
