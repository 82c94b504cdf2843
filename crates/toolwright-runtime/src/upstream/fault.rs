//! Faults of the connection to a vendor, as faults for the API client.

use toolwright_core::{Fault, FaultClass};
use toolwright_transport::{HttpFault, HttpFaultKind};

/// Returns the fault for the API client.
pub fn fault_of(fault: HttpFault) -> Fault {
    let (class, status, code) = match fault.kind {
        HttpFaultKind::Invalid => return Fault::new(FaultClass::Invalid, fault.message),
        HttpFaultKind::Unreachable => (FaultClass::Internal, 502, "upstream_unreachable"),
        HttpFaultKind::Tls => (FaultClass::Internal, 502, "upstream_tls"),
        HttpFaultKind::Proxy => (FaultClass::Internal, 502, "upstream_proxy"),
        HttpFaultKind::AddressRefused => (FaultClass::Forbidden, 403, "address_refused"),
        HttpFaultKind::ConnectTimeout => (FaultClass::Timeout, 504, "upstream_connect_timeout"),
        HttpFaultKind::Timeout => (FaultClass::Timeout, 504, "upstream_timeout"),
        HttpFaultKind::Broken => (FaultClass::Internal, 502, "upstream_broken"),
        HttpFaultKind::InvalidResponse => (FaultClass::Internal, 502, "upstream_answer"),
        HttpFaultKind::Crowded => (FaultClass::Overloaded, 503, "upstream_crowded"),
    };
    Fault { status: Some(status), code: Some(code.to_owned()), ..Fault::new(class, fault.message) }
}

/// The vendor's response is invalid.
pub(super) fn invalid_response(label: &str, what: &str) -> Fault {
    fault_of(toolwright_transport::fault::answer(label, what))
}

/// The connection or the response was interrupted.
pub(super) fn broken(label: &str, what: &str) -> Fault {
    fault_of(toolwright_transport::fault::broken(label, what))
}
