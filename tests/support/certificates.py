"""certificates - authorities, and what they sign, made by openssl(1) in a folder of the test's own.
Keys are of curves: those of RSA take a second each."""

import pathlib
import subprocess

DAYS = "2"


class Authority:
    """ca is the file that a peer must trust; folder holds everything."""

    def __init__(self, folder, name="authority"):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._name = name
        self.ca, self._key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        self._openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc",
            "-subj", f"/CN={name}", "-days", DAYS, "-keyout", self._key, "-out", self.ca,
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
        )  # fmt: skip

    @staticmethod
    def _openssl(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)

    def sign(self, name, subject, names="IP:127.0.0.1,DNS:localhost"):
        """(certificate, key) of this subject, valid for these names, as paths."""
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request = self.folder / f"{name}.csr"
        self._openssl(
            "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc",
            "-subj", subject, "-keyout", key, "-out", request, "-addext", f"subjectAltName={names}",
        )  # fmt: skip
        self._openssl(
            "x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self._key, "-days", DAYS,
            "-copy_extensions", "copy", "-out", certificate,
        )  # fmt: skip
        key.chmod(0o600)
        return certificate, key
