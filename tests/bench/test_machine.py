"""What a run was made on, where the system tells, and where it does not."""

from lincat.bench import machine, memory


def test_the_machine_in_words():
    words = machine.describe()
    assert set(words) == {"processor", "cores", "system", "packages", "compiler"}
    assert "numpy 2" in words["packages"]
    assert float(machine.load_average()) >= 0.0


def test_a_system_that_tells_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_L2", tmp_path / "none")
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "none")
    monkeypatch.setattr(machine.platform, "processor", lambda: "")
    monkeypatch.setattr(machine.platform, "machine", lambda: "riscv64")
    monkeypatch.setenv("CC", "no-such-compiler")
    words = machine.describe()
    assert words["processor"] == "riscv64"
    assert words["compiler"] == "none"
    assert machine._version("no-such-package") == "not installed"
    monkeypatch.setattr(memory, "_STATM", tmp_path / "none")
    assert memory.resident() > 10.0  # of a Python with NumPy, in MB


def test_what_the_system_tells(monkeypatch, tmp_path):
    cache, processor = tmp_path / "size", tmp_path / "cpuinfo"
    monkeypatch.setattr(machine, "_L2", cache)
    monkeypatch.setattr(machine, "_CPUINFO", processor)
    cache.write_text("512K\n")
    processor.write_text("cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: A Chip\n")
    found = machine.describe()["processor"]
    assert found == "A Chip (family 25, model 17), 512 KiB L2"
    cache.write_text("a lot\n")
    assert machine.second_level_cache() is None
