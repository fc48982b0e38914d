"""The counters of a GPU: kernels whose shares of the peaks are known, alone or beside others, and samples that follow from
them. What `kymo` gives to each kernel, the verdicts, the energy and the roofline must be what was put in."""

import subprocess

from kit import BIN

MS = 1_000_000
COUNTERS = ["multiprocessors active [%]", "warps active [%]", "tensor cores active [%]", "DRAM read [%]", "DRAM written [%]",
            "FMA pipe active [%]"]
MULTIPROCESSORS, MOST_CLOCK = 132, 1980
METADATA = {"GPU counters": "NVIDIA H200", "sample interval": MS, "multiprocessors": MULTIPROCESSORS,
            "threads per multiprocessor": 2048, "registers per multiprocessor": 65536, "compute capability, major": 9,
            "compute capability, minor": 0, "max SM clock [MHz]": MOST_CLOCK, "max memory clock [MHz]": 3201,
            "memory bus [bits]": 6144}
PEAK_BYTES = 3201e6 * 2 * 6144 / 8


class Kernel:
    def __init__(self, random, number):
        self.kind = random.choice(["memory", "tensor", "few threads", "registers", "unused", "ordinary"])
        self.name = {"tensor": "gemm_bf16", "unused": "simt_gemm_bf16"}.get(self.kind, "kernel") + f"_{number}"
        self.block, self.registers = 256, 32
        active = random.uniform(55, 100)
        self.shares = [active, random.uniform(10, 90), 0, random.uniform(1, 20), random.uniform(1, 20), random.uniform(2, 40)]
        if self.kind == "memory":
            self.shares[3:5] = [random.uniform(35, 49), random.uniform(35, 49)]
        elif self.kind == "tensor":
            self.shares[2] = random.uniform(65, 99)
        elif self.kind == "few threads":
            self.shares[0] = random.uniform(1, 45)
        elif self.kind == "registers":
            self.block, self.registers = 256, random.choice([128, 168, 200, 255])

    @property
    def warps_by_registers(self):
        """The share of the 64 warps that fit: warps get registers in units of 256, and blocks come whole."""
        warps = self.block // 32
        of_warp = -(-self.registers * 32 // 256) * 256
        return 65536 // of_warp // warps * warps / 64

    def verdicts(self):
        read = self.shares[3] + self.shares[4]
        if read >= 60:
            yield f"memory: {read:.0f} % of the peak of 4.9 TB/s"
        if self.shares[2] >= 60:
            yield f"tensor cores: {self.shares[2]:.0f} % of the peak"
        if self.kind == "unused":
            yield "tensor cores unused although the operands are bfloat16"
        if self.shares[0] < 50:
            yield f"few threads: {self.shares[0] * MULTIPROCESSORS / 100:.0f} of {MULTIPROCESSORS} multiprocessors active"
        if self.warps_by_registers <= 0.5:
            yield f"registers limit it to {100 * self.warps_by_registers:.3g} % of the warps"


def check(case):
    random = case.random
    kernels = [Kernel(random, i) for i in range(random.randrange(2, 6))]
    clock = random.choice([1965, 1290, 1700])
    lines = [("metadata", *one) for one in METADATA.items()]
    power = random.uniform(300, 700)
    launches, samples, now = {}, {}, 0
    for part in range(random.randrange(6, 12)):
        kernel = kernels[part % len(kernels)]
        cover = random.choice([1, 0.7, 0.3])  # the part of each millisecond in which it runs
        other = random.random() < 0.2  # another one beside it: these samples belong to nobody
        for _ in range(random.randrange(20, 60)):
            pieces = random.choice([1, 2, 4])
            length = int(MS * cover / pieces)
            for piece in range(pieces):
                begin = now + piece * (MS // pieces)
                lines.append(("kernel", 0, begin, begin + length, kernel.name, kernel.block, kernel.registers))
                launches[kernel.name] = launches.get(kernel.name, 0) + 1
            if other:
                lines.append(("copy", 1, now, now + MS // 10))
            else:
                samples[kernel.name] = samples.get(kernel.name, 0) + 1
            covered = pieces * length / MS
            for counter, share in zip(COUNTERS, kernel.shares):
                lines.append(("sample", counter, now, f"{share * covered * (0.5 if other else 1):.9f}"))
            lines.append(("sample", "SM cycles per second", now, clock * 1e6))
            now += MS
    lines.append(("copy", 1, now, now + MS))  # the trace does not end before its last sample
    for time in range(0, now, 10 * MS):
        lines += [("sensor", "SM clock [MHz]", time, clock), ("sensor", "throttle reasons", time, 4),
                  ("sensor", "energy [J]", time, f"{power * time / 1e9:.6f}")]
    path = case.folder / "gpu.kymo"
    text = "".join("\t".join(map(str, line)) + "\n" for line in lines)
    subprocess.run([BIN / "golden_traces", "--gpu", path], input=text, text=True, check=True)

    gpu, = case.json("report", path)["gpus"]
    low = [one for one in gpu["verdicts"] if one.startswith(f"clock {clock:,} of 1,980 MHz: power limit (")]
    case.equal("verdicts about the clock", len(gpu["verdicts"]), 0 if clock >= 0.9 * MOST_CLOCK else 1)
    case.equal("the clock and its reason", len(low), len(gpu["verdicts"]))
    rows = {row["name"]: row for row in case.json("stats", path, "--by", "kernel")["rows"]}
    reported = {row["name"]: row for row in gpu["kernels"]}
    roofs = {row["name"]: row for one in case.json("roofline", path, exit_code=0 if samples else 3)["gpus"]
             for row in one["kernels"]}
    for kernel in kernels:
        name = kernel.name
        if name not in launches:
            continue
        case.equal(f"launches of {name}", rows[name]["count"], launches[name])
        case.equal(f"samples of {name}", rows[name]["gpu_samples"], samples.get(name, 0))
        if samples.get(name, 0) < 5:
            case.equal(f"counters of {name}", rows[name]["gpu_counters"], {})
            continue
        for counter, share in zip(COUNTERS, kernel.shares):
            case.equal(f"{counter} of {name}", rows[name]["gpu_counters"][counter], share, 1e-4)
        verdicts = [one.rsplit(" (", 1)[0].removesuffix(", by its name") for one in reported[name]["verdicts"]]
        verdicts = [one.split(" (")[0] for one in verdicts]
        case.equal(f"verdicts of {name}", verdicts, list(kernel.verdicts()))
        cycles = clock * 1e6 * MULTIPROCESSORS
        tensor = kernel.shares[2] / 100 * 4096 * cycles if kernel.shares[2] > kernel.shares[5] else 0
        operations = tensor + kernel.shares[5] / 100 * 256 * cycles
        bytes_per_s = (kernel.shares[3] + kernel.shares[4]) / 100 * PEAK_BYTES
        peak = (4096 if 2 * tensor > operations else 256) * MOST_CLOCK * 1e6 * MULTIPROCESSORS
        roof = min(peak, operations / bytes_per_s * PEAK_BYTES)
        case.equal(f"operations of {name}", roofs[name]["operations_per_s"], operations, 1e-4)
        case.equal(f"bytes of {name}", roofs[name]["bytes_per_s"], bytes_per_s, 1e-4)
        case.equal(f"share of the roof of {name}", roofs[name]["share_of_roof"], operations / roof, 1e-4)
