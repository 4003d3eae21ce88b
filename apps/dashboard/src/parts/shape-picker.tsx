import { Box, Group, Input, SegmentedControl, Text, UnstyledButton } from '@mantine/core';
import { useId, useRef, useState, type KeyboardEvent } from 'react';

interface ShapePickerProps {
  readonly sizes: readonly string[];
  /** The value for the shape of a reference image. */
  readonly reference: string;
  readonly value: string;
  readonly onChange: (size: string) => void;
}

const BOX = 28;
const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
/** The most common shapes. */
const COMMON = ['1:1', '3:2', '2:3', '16:9', '9:16'];

/** Sizes drawn as shapes, the common ones first; one radio group for arrow keys. */
export function ShapePicker({ sizes, reference, value, onChange }: ShapePickerProps) {
  const group = useRef<HTMLDivElement>(null);
  const [all, setAll] = useState(false);
  const label = useId();
  const common = COMMON.filter((size) => sizes.includes(size));
  const first = sizes.filter(
    (size) => size === reference || (common.length > 1 ? common : sizes.slice(0, 5)).includes(size),
  );
  const few = first.includes(value) || !sizes.includes(value) ? first : [...first, value];
  const shown = all ? [...first, ...sizes.filter((size) => !first.includes(size))] : few;
  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const index = (shown.indexOf(value) + step + shown.length) % shown.length;
    onChange(shown[index] ?? value);
    group.current?.querySelectorAll<HTMLElement>('[role=radio]')[index]?.focus();
  };
  return (
    <Box>
      <Group justify="space-between" mb={6}>
        <Text size="sm" fw={600} id={label}>
          Aspect ratio
        </Text>
        {few.length < sizes.length && (
          <UnstyledButton className="fold" py={0} aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? 'Fewer' : 'More'}
          </UnstyledButton>
        )}
      </Group>
      <Box ref={group} className="shapes" role="radiogroup" aria-labelledby={label} onKeyDown={move}>
        {shown.map((size) => (
          <UnstyledButton
            key={size}
            className="shape"
            role="radio"
            aria-checked={size === value}
            tabIndex={size === value ? 0 : -1}
            onClick={() => onChange(size)}
          >
            <span className="shape-outline" style={outlineOf(size)} />
            {size === reference ? 'Original' : size === 'auto' ? 'Auto' : size}
          </UnstyledButton>
        ))}
      </Box>
    </Box>
  );
}

function outlineOf(size: string) {
  const [width = 1, height = 1] = size.split(':').map(Number);
  if (Number.isNaN(width)) return { width: BOX - 4, height: BOX - 4, borderStyle: 'dashed', borderRadius: '50%' };
  const scale = BOX / Math.max(width, height);
  return { width: Math.round(width * scale), height: Math.round(height * scale) };
}

interface TierPickerProps {
  readonly tiers: readonly string[];
  readonly value: string;
  readonly onChange: (tier: string) => void;
}

export function TierPicker({ tiers, value, onChange }: TierPickerProps) {
  const label = useId();
  return (
    <Input.Wrapper label="Resolution" labelElement="div" labelProps={{ id: label }}>
      <SegmentedControl
        fullWidth
        aria-labelledby={label}
        data={tiers.map((tier) => ({ value: tier, label: tier.toUpperCase() }))}
        value={value}
        onChange={onChange}
      />
    </Input.Wrapper>
  );
}
