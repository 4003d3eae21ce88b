import { PasswordInput } from '@mantine/core';
import { useState, type ComponentProps } from 'react';

/** A field for a password, whose button says what it does next. */
export function PasswordField(props: ComponentProps<typeof PasswordInput>) {
  const [visible, setVisible] = useState(false);
  return (
    <PasswordInput
      visible={visible}
      onVisibilityChange={setVisible}
      visibilityToggleButtonProps={{
        'aria-label': visible ? 'Hide password' : 'Show password',
        'aria-pressed': undefined,
      }}
      {...props}
    />
  );
}
